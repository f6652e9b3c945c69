import { describe, expect, it } from "@jest/globals";
import { isUuid } from "@muster/kit";
import { type AgentFields, deviceIdsOf, looksLikeEnrollmentKey, requireAgentFields } from "./enrollment.ts";

const key = "0123456789abcdef".repeat(4);
const fields = (change: Partial<AgentFields> = {}): AgentFields => ({
  ...{ hostname: "till-1", os: "linux", arch: "amd64", libc: "glibc", agentVersion: "1.0.0", watchdogVersion: "" },
  ...{ hardwareId: "board-1", serialNumber: "S1", labels: {} },
  ...change,
});
/** RFC 9562: version 8, variant 10xx. */
const version8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("device ids of a machine", () => {
  it("are sixteen UUIDs of version 8, the same each time", () => {
    const machines = Array.from({ length: 20 }, (_, n) => fields({ hardwareId: `board-${n}` }));
    const ids = machines.flatMap((machine) => deviceIdsOf(key, machine));
    expect([new Set(ids).size, ids.every((id) => isUuid(id) && version8.test(id))]).toEqual([320, true]);
    // Every digit that the variant permits appears.
    expect([...new Set(ids.map((id) => id[19]))].sort()).toEqual(["8", "9", "a", "b"]);
    expect(deviceIdsOf(key, fields())).toEqual(deviceIdsOf(key, fields()));
  });

  it.each<[string, string, Partial<AgentFields>]>([
    ["another key", "f".repeat(64), {}],
    ["another hardware id", key, { hardwareId: "board-2" }],
    ["another serial number", key, { serialNumber: "S2" }],
    ["another host name", key, { hostname: "till-2" }],
  ])("are others for %s", (_, by, change) => {
    const others = new Set(deviceIdsOf(by, fields(change)));
    expect(deviceIdsOf(key, fields()).filter((id) => others.has(id))).toEqual([]);
  });

  it("do not depend on what an update changes, and are none without a hardware id", () => {
    expect(deviceIdsOf(key, fields({ agentVersion: "2.0.0", libc: "musl" }))).toEqual(deviceIdsOf(key, fields()));
    expect(deviceIdsOf(key, fields({ hardwareId: "" }))).toEqual([]);
  });
});

describe("an enrollment", () => {
  it.each([
    [key, true],
    [key.toUpperCase(), true],
    [key.slice(1), false],
    [`${key}0`, false],
    [`g${key.slice(1)}`, false],
  ])("with %s may have a key: %s", (text, expected) => {
    expect(looksLikeEnrollmentKey(text)).toBe(expected);
  });

  it.each(["hostname", "os", "arch", "agentVersion"] as const)("requires %s before a use of the key", (field) => {
    expect(() => requireAgentFields(fields())).not.toThrow();
    expect(() => requireAgentFields(fields({ [field]: "  " }))).toThrow(
      expect.objectContaining({
        code: "validation_failed",
        facts: { details: { formErrors: [], fieldErrors: { [field]: ["Required"] } } },
      }),
    );
  });
});
