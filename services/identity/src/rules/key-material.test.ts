import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { looksLikeApiKey } from "@muster/kit";
import { enrollmentDigest, enrollmentPeppers, newEnrollmentKey } from "./enrollment-key.ts";
import { newApiKey } from "./key-material.ts";

describe("an API key", () => {
  it("has the documented form, a prefix of 12 characters and its SHA-256", () => {
    const { key, prefix, digest } = newApiKey();
    // The regular expression of docs/api-keys.md.
    expect(key).toMatch(/^svc_[A-Za-z0-9_-]{31}[AQgw]$/);
    expect(prefix).toBe(key.slice(0, 12));
    expect(digest).toEqual(createHash("sha256").update(key).digest());
  });

  it("carries a checksum that any changed character breaks", () => {
    const { key } = newApiKey();
    expect(looksLikeApiKey(key)).toBe(true);
    for (let i = 4; i < key.length; i++) {
      const other = key[i] === "A" ? "B" : "A";
      expect(looksLikeApiKey(key.slice(0, i) + other + key.slice(i + 1))).toBe(false);
    }
  });

  it("has the checksum that the documentation computes", () => {
    // CRC-32 of the 26 letters is 4c2750bd.
    expect(looksLikeApiKey("svc_abcdefghijklmnopqrstuvwxyzTCdQvQ")).toBe(true);
    expect(looksLikeApiKey("svc_abcdefghijklmnopqrstuvwxyzTCdQvR")).toBe(false);
  });

  it("is never generated twice", () => {
    expect(new Set(Array.from({ length: 1_000 }, () => newApiKey().key)).size).toBe(1_000);
  });
});

describe("the pepper of enrollment keys", () => {
  it.each([
    [{ ENROLLMENT_KEY_PEPPER: "p", SECRET_ENCRYPTION_KEY: "a:1", JWT_SECRET: "j" }, ["p"]],
    [{ APP_ENCRYPTION_KEY: "app", SECRET_ENCRYPTION_KEY: "a:1", JWT_SECRET: "j" }, ["app"]],
    [{ SECRET_ENCRYPTION_KEY: "b:2, a:1", JWT_SECRET: "j" }, ["b:2", "a:1"]],
    [{ JWT_SECRET: "j" }, ["j"]],
  ])("for %j is %j", (settings, secrets) => {
    expect(enrollmentPeppers(settings).map(({ secret }) => secret)).toEqual(secrets);
  });

  it("is required", () => {
    expect(() => enrollmentPeppers({})).toThrow("No enrollment key pepper configured");
  });

  it("determines the stored hash, and its id reveals nothing of it", () => {
    const [a] = enrollmentPeppers({ JWT_SECRET: "one" });
    const [b] = enrollmentPeppers({ JWT_SECRET: "two" });
    const { key, digest } = newEnrollmentKey(a);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(digest).toEqual(enrollmentDigest(key, a));
    expect(digest).not.toEqual(enrollmentDigest(key, b));
    expect(a.id).toMatch(/^[0-9a-f]{8}$/);
    expect(a.id).not.toBe(b.id);
  });
});
