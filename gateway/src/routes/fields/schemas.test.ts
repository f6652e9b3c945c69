import { describe, expect, it } from "@jest/globals";
import { addressIn, nameIn } from "./schemas.ts";

describe("an address of an interface", () => {
  it.each([
    ["10.0.0.7", "10.0.0.7"],
    ["fe80::1", "fe80::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["fe80::d1f3:2a%12", "fe80::d1f3:2a"],
    ["FE80::1%br-3f2a.100", "FE80::1"],
    ["::ffff:1.2.3.4", "::ffff:1.2.3.4"],
  ])("%s is stored as %s", (text, kept) => {
    expect(addressIn.parse(text)).toBe(kept);
  });

  it.each([
    "",
    "eth0",
    "10.0.0.7%eth0",
    "fe80::1%",
    "fe80::1%a b",
    "fe80::1%a%b",
    "%eth0",
    `fe80::1%${"x".repeat(65)}`,
  ])("%j is refused", (text) => {
    expect(addressIn.safeParse(text).success).toBe(false);
  });
});

describe("a host name", () => {
  it("is one line of visible text, in any language", () => {
    expect(nameIn.parse("  büro-東京 \n")).toBe("büro-東京");
    for (const bad of ["a\nb", "a\tb", "a\u007fb", "a\u2028b", "a\u202eb", "\u0000"]) {
      expect(nameIn.safeParse(bad).success).toBe(false);
    }
  });
});
