import { describe, expect, it } from "@jest/globals";
import { AppError, uuidv7 } from "@muster/kit";
import { deviceGroupChange, maxDevicesPerCall, membershipIds, newDeviceGroup } from "./device-group.ts";

const codeOf = (act: () => unknown): string => {
  try {
    act();
    return "ok";
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
};

describe("a device group", () => {
  it("belongs to a site or to the organization as a whole", () => {
    const siteId = uuidv7();
    expect(newDeviceGroup({ name: "Servers", siteId })).toEqual({ name: "Servers", siteId });
    expect(newDeviceGroup({ name: "Servers", siteId: "" })).toEqual({ name: "Servers", siteId: null });
  });

  it.each([
    [{ name: "", siteId: "" }],
    [{ name: "x".repeat(256), siteId: "" }],
    [{ name: "a\u0000", siteId: "" }],
    [{ name: "A", siteId: "x" }],
  ])("is refused as %j", (input) => {
    expect(codeOf(() => newDeviceGroup(input))).toBe("validation_failed");
  });

  it("changes by masked fields only", () => {
    expect(deviceGroupChange(["name"], { name: "New", siteId: "" })).toEqual({ name: "New" });
    expect(deviceGroupChange(["site_id"], { name: "", siteId: "" })).toEqual({ siteId: null });
    expect(codeOf(() => deviceGroupChange(["org_id"], { name: "New", siteId: "" }))).toBe("no_updates");
    expect(codeOf(() => deviceGroupChange(["name"], { name: "", siteId: "" }))).toBe("validation_failed");
  });
});

describe("ids of a membership call", () => {
  it("are deduplicated, in lower case and ascending", () => {
    const [a, b] = [uuidv7(1), uuidv7(2)] as const;
    expect(membershipIds([b, a.toUpperCase(), b, a])).toEqual([a, b]);
  });

  it("number between one and the limit, and are UUIDs", () => {
    const many = Array.from({ length: maxDevicesPerCall + 1 }, () => uuidv7());
    expect(membershipIds(many.slice(1))).toHaveLength(maxDevicesPerCall);
    for (const bad of [[], many, ["x"]]) expect(codeOf(() => membershipIds(bad))).toBe("validation_failed");
  });
});
