import { describe, expect, it } from "@jest/globals";
import { newToken, tokenHash } from "./opaque-token.ts";
import { checkNewPassword } from "./password-policy.ts";
import { newRecoveryCodes, recoveryCodeHash } from "./recovery-codes.ts";

describe("opaque tokens", () => {
  it("are 256 random bits that only their hash finds", () => {
    const { token, hash } = newToken("inv_");
    expect(token).toMatch(/^inv_[\w-]{43}$/);
    expect(tokenHash(token).equals(hash)).toBe(true);
    expect(newToken("inv_").token).not.toBe(token);
  });
});

describe("recovery codes", () => {
  it("are ten, each another, without letters that look like digits", () => {
    const codes = newRecoveryCodes();
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
  });

  it("are the same in any spelling", () => {
    const hash = recoveryCodeHash("ABCD-1234-WXYZ-5678");
    for (const typed of ["abcd1234wxyz5678", " ABCD 1234 WXYZ 5678 "]) {
      expect(recoveryCodeHash(typed).equals(hash)).toBe(true);
    }
    expect(recoveryCodeHash("ABCD-1234-WXYZ-5679").equals(hash)).toBe(false);
  });
});

describe("a new password", () => {
  it.each([
    ["12 characters", "xkqvzjwmpfth", true],
    ["1,024", "xkqvzjwmpfthlbgd".repeat(64), true],
    ["12 characters of two units each", "😀😁😂🤣😃😄😅😆😉😊😋😎", true],
    ["11", "x".repeat(11), false],
    ["11 of two units each", "😀".repeat(11), false],
    ["1,025", "x".repeat(1_025), false],
    ["the e-mail address", "Ada.L@Example.com", false],
    ["nothing", "", false],
  ])("are checked: %s", (_name, password, good) => {
    const check = () => checkNewPassword(password, "ada.l@example.com");
    if (good) expect(check).not.toThrow();
    else expect(check).toThrow("Validation failed");
  });
});
