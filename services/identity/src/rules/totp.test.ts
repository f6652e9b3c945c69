import { describe, expect, it } from "@jest/globals";
import { matchingStep, totpEnrollment } from "./totp.ts";

// RFC 6238, appendix B (SHA-1); its codes of eight digits end in ours of six.
const secret = Buffer.from("12345678901234567890");

describe("TOTP codes", () => {
  it.each([
    [59, "287082"],
    [1_111_111_109, "081804"],
    [1_111_111_111, "050471"],
    [1_234_567_890, "005924"],
    [2_000_000_000, "279037"],
    [20_000_000_000, "353130"],
  ])("are those of RFC 6238 at %d s", (seconds, code) => {
    const step = Math.floor(seconds / 30);
    const at = (offset: number) => matchingStep(secret, code, new Date((seconds + offset) * 1000));
    expect(at(0)).toBe(step);
    expect(at(30)).toBe(step);
    expect(at(-30)).toBe(step);
    expect(at(90)).toBeNull();
    expect(at(-90)).toBeNull();
  });

  it.each(["", "12345", "1234567", "abcdef", "28708 "])("are never %j", (code) => {
    expect(matchingStep(secret, code, new Date(59_000))).toBeNull();
  });
});

describe("an enrollment", () => {
  it("names issuer and account, and carries the secret in base 32", () => {
    const { secret: text, otpauthUrl } = totpEnrollment(secret, "ada@example.com");
    expect(text).toBe("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    const url = new URL(otpauthUrl);
    expect(url.protocol).toBe("otpauth:");
    expect(decodeURIComponent(url.pathname)).toContain("Muster:ada@example.com");
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      issuer: "Muster",
      secret: text,
      digits: "6",
      period: "30",
    });
  });
});
