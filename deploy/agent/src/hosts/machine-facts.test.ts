import { describe, expect, it } from "@jest/globals";
import { between, hashedId, isPlaceholder, libcIn } from "./machine-facts.ts";

describe("facts of a machine", () => {
  it("hash its id, and have none without one", () => {
    expect(hashedId("3d1219c7c4c5404aaa1f6d2a48adfda4")).toMatch(/^[0-9a-f]{64}$/);
    expect(hashedId("a")).not.toBe(hashedId("b"));
    expect(hashedId("")).toBe("");
  });

  it.each([
    "",
    "0",
    "0000000",
    "None",
    "Default string",
    "To be filled by O.E.M.",
    "System Serial Number",
    "123456789",
  ])("leave the placeholder %j out", (serial) => expect(isPlaceholder(serial)).toBe(true));

  it("keep a real serial number", () => expect(isPlaceholder("PF2ABCDE")).toBe(false));

  it("have the C library that is mapped into the program", () => {
    const line = (path: string) => `7f0c1a2b3000-7f0c1a2c7000 r--p 00000000 08:01 1234  ${path}\n`;
    expect(libcIn(line("/usr/lib/x86_64-linux-gnu/libc.so.6"))).toBe("gnu");
    expect(libcIn(line("/usr/bin/node") + line("/lib/ld-musl-x86_64.so.1"))).toBe("musl");
  });

  // As `ioreg -rd1 -c IOPlatformExpertDevice` prints it (Apple, Technical Note TN1103).
  it("read the properties of a Mac", () => {
    const text =
      '    "IOPlatformUUID" = "00000000-0000-1000-8000-0017F2C6BE8A"\n    "IOPlatformSerialNumber" = "W87000AAAAA"\n';
    expect(between(text, "IOPlatformUUID")).toBe("00000000-0000-1000-8000-0017F2C6BE8A");
    expect(between(text, "IOPlatformSerialNumber")).toBe("W87000AAAAA");
    expect(between(text, "model")).toBe("");
  });
});
