import { describe, expect, it } from "@jest/globals";
import { AppError, uuidv7 } from "@muster/kit";
import { deviceChange, newDevice, reinstallOf, requireEnrollable, requireRoom } from "./device.ts";

const valid = {
  id: uuidv7(),
  orgId: uuidv7(),
  siteId: "",
  hostname: "WS-042",
  os: "windows",
  arch: "amd64",
  libc: "",
  agentVersion: "1.4.0",
  watchdogVersion: "",
  hardwareId: "",
  serialNumber: "",
  labels: {},
  enrollmentKeyId: "",
  reinstall: "",
};

/** Code of what `act` throws and the fields it names; "ok" when it throws nothing. */
function outcome(act: () => unknown): string {
  try {
    act();
    return "ok";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { fieldErrors } = (error.facts.details ?? {}) as { fieldErrors?: object };
    return [error.code, ...Object.keys(fieldErrors ?? {})].join(" ");
  }
}

describe("a new device", () => {
  it("has null for omitted fields, and ids in lower case", () => {
    const device = newDevice({ ...valid, id: valid.id.toUpperCase() });
    expect(device).toEqual({
      ...valid,
      siteId: null,
      libc: null,
      watchdogVersion: null,
      hardwareId: null,
      serialNumber: null,
      enrollmentKeyId: null,
      reinstall: "quarantine",
    });
  });

  it.each([
    ["id", { id: "7" }],
    ["orgId", { orgId: "" }],
    ["siteId", { siteId: "here" }],
    ["hostname", { hostname: "" }],
    ["hostname", { hostname: "   " }],
    ["hostname", { hostname: "x".repeat(256) }],
    ["hostname", { hostname: "a\u0000b" }],
    ["hostname", { hostname: "\ud800" }],
    ["hostname", { hostname: "WS-1\nWS-2" }],
    ["hostname", { hostname: "WS\u001b[31m" }],
    ["hostname", { hostname: "WS\u202eexe" }],
    ["os", { os: "beos" }],
    ["os", { os: "" }],
    ["arch", { arch: "mips" }],
    ["agentVersion", { agentVersion: "" }],
    ["agentVersion", { agentVersion: "x".repeat(51) }],
    ["watchdogVersion", { watchdogVersion: "x".repeat(51) }],
    ["hardwareId", { hardwareId: "x".repeat(256) }],
    ["serialNumber", { serialNumber: "x\u0000" }],
    ["reinstall", { reinstall: "overwrite" }],
  ])("reports the invalid field %s", (field, change) => {
    expect(outcome(() => newDevice({ ...valid, ...change }))).toBe(`validation_failed ${field}`);
  });

  it("has its host name without surrounding spaces and newlines", () => {
    expect(newDevice({ ...valid, hostname: " WS-1\r\n" }).hostname).toBe("WS-1");
  });

  it.each(["quarantine", "replace", "new"] as const)(
    "of an enrolled machine is treated as its key says: %s",
    (wanted) => {
      expect(reinstallOf(null, wanted)).toBeNull();
      expect(reinstallOf({ status: "offline" }, wanted)).toBe(wanted);
      for (const status of ["online", "updating"]) expect(reinstallOf({ status }, wanted)).toBe("quarantine");
    },
  );
});

describe("a change of a device", () => {
  const patch = { siteId: "", hostname: "NEW", autoUpdateEnabled: false };

  it.each([
    [["hostname"], { hostname: "NEW" }],
    [["site_id"], { siteId: null }],
    [["auto_update_enabled", "status", "org_id"], { autoUpdateEnabled: false }],
  ])("changes these fields only: %j", (paths, expected) => {
    expect(deviceChange(paths, patch)).toEqual(expected);
  });

  it.each([
    ["no_updates", [], {}],
    ["no_updates", ["org_id", "status"], {}],
    ["validation_failed hostname", ["hostname"], { hostname: "" }],
    ["validation_failed hostname", ["hostname"], { hostname: "A\u0085B" }],
    ["validation_failed siteId", ["site_id"], { siteId: "nowhere" }],
  ])("is refused with %s", (expected, paths, change) => {
    expect(outcome(() => deviceChange(paths, { ...patch, ...change }))).toBe(expected);
  });
});

describe("room for a device", () => {
  it.each([
    ["active", "active", "ok"],
    ["active", "trial", "ok"],
    ["active", "suspended", "ok"],
    ["active", "churned", "organization_inactive"],
    ["suspended", "active", "partner_inactive"],
    ["pending", "active", "partner_inactive"],
    ["churned", "active", "partner_inactive"],
  ])("under a partner that is %s, in an organization that is %s: %s", (partner, organization, expected) => {
    expect(outcome(() => requireEnrollable({ status: partner }, { status: organization }))).toBe(expected);
  });

  it.each([
    [1, null, "ok"],
    [3, 3, "ok"],
    [4, 3, "limit_reached"],
    [1, 0, "limit_reached"],
  ])("%d devices under a cap of %s: %s", (count, limit, expected) => {
    expect(outcome(() => requireRoom("partner", count, limit))).toBe(expected);
  });
});
