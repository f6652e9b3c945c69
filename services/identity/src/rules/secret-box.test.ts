import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { secretBox } from "./secret-box.ts";

const key = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;

describe("secret box", () => {
  it("opens what it sealed, in the same place only", () => {
    const box = secretBox(key("a"));
    const sealed = box.seal(Buffer.from("family"), "sessions/1/family_secret");
    expect(box.open(sealed, "sessions/1/family_secret").toString()).toBe("family");
    expect(() => box.open(sealed, "sessions/2/family_secret")).toThrow();
    expect(sealed.includes("family")).toBe(false);
  });

  it("seals with the first key and opens with every key", () => {
    const [older, newer] = [key("old"), key("new")];
    const sealed = secretBox(older).seal(Buffer.from("x"), "p");
    const both = secretBox(`${newer},${older}`);
    expect(both.open(sealed, "p").toString()).toBe("x");
    expect(() => secretBox(newer).open(both.seal(Buffer.from("y"), "p"), "p")).not.toThrow();
    expect(() => secretBox(newer).open(sealed, "p")).toThrow("unknown key");
  });

  it("notices each altered byte", () => {
    const box = secretBox(key("a"));
    const sealed = box.seal(Buffer.from("secret"), "p");
    for (let i = 0; i < sealed.length; i++) {
      const altered = Buffer.from(sealed);
      altered.writeUInt8(altered.readUInt8(i) ^ 1, i);
      expect(() => box.open(altered, "p")).toThrow();
    }
  });

  it.each(["", "a", "a:", "a:c2hvcnQ=", `:${randomBytes(32).toString("base64")}`])(
    "refuses the key list %j",
    (keys) => {
      expect(() => secretBox(keys)).toThrow("SECRET_ENCRYPTION_KEY");
    },
  );
});
