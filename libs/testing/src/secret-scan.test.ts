import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { secretScanner } from "./secret-scan.ts";

const value = randomBytes(24).toString("base64url");
const password = 'correct "horse" battery\nstaple';
const scanner = secretScanner({ digests: true });
scanner.add({ name: "key", value });
for (let i = 0; i < 2_000; i++) scanner.add({ name: "other", value: randomBytes(24).toString("base64url") });

const digest = createHash("sha256").update(value).digest();
const within = (text: string | Buffer) => Buffer.concat([randomBytes(1_000), Buffer.from(text), randomBytes(1_000)]);

describe("a search for secrets", () => {
  it.each([
    ["as it is", value],
    ["in hex", Buffer.from(value).toString("hex")],
    ["in a row's hex", `\\x0a20${Buffer.from(value).toString("hex")}12`],
    ["in Base64", Buffer.from(value).toString("base64")],
    ["in Base64 after one byte", Buffer.from(`x${value}yz`).toString("base64")],
    ["in Base64url after two bytes", Buffer.from(`xy${value}z`).toString("base64url")],
    ["as SHA-256 in hex", digest.toString("hex")],
    ["as SHA-256 in Base64", digest.toString("base64")],
    ["as SHA-256 in Base64url", digest.toString("base64url")],
    ["as the bytes of its SHA-256", digest],
  ])("finds one %s", (_how, text) => {
    expect(scanner.find(within(text)).map(({ name }) => name)).toContain("key");
  });

  it.each([
    ["in a line of a log", JSON.stringify({ password })],
    ["in a query", `/hook?token=${encodeURIComponent(password)}&x=1`],
    ["in a form", new URLSearchParams({ password }).toString()],
  ])("finds one with quotes and spaces %s", (_how, text) => {
    const one = secretScanner({ digests: false });
    one.add({ name: "password", value: password });
    expect(one.find(Buffer.from(text)).map(({ name }) => name)).toEqual(["password"]);
  });

  it("finds a second secret behind a hundred occurrences of the first", () => {
    const two = secretScanner({ digests: false });
    for (const [name, text] of Object.entries({ value, password })) two.add({ name, value: text });
    const found = two.find(Buffer.from(`${value.repeat(100)}${password}`));
    expect(found.map(({ name }) => name)).toEqual(["value", "password"]);
  });

  it("finds a hex key by its bytes, at the very end too", () => {
    const hex = secretScanner({ digests: false });
    const key = randomBytes(32);
    hex.add({ name: "enrollment key", value: key.toString("hex") });
    expect(hex.find(Buffer.concat([randomBytes(9), key]))).toEqual([
      { name: "enrollment key", form: "decoded as it is", at: 9 },
    ]);
  });

  it("finds nothing where there is none, nor a digest it was not asked for", () => {
    expect(scanner.find(randomBytes(1_000_000))).toEqual([]);
    expect(scanner.find(Buffer.from("short"))).toEqual([]);
    const plain = secretScanner({ digests: false });
    plain.add({ name: "key", value });
    expect(plain.find(digest)).toEqual([]);
  });
});
