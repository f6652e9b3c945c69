import { AppError, isUuid, nameError } from "@muster/kit";
import { type Checks, checks } from "./fields.ts";

export const deviceSystems = ["windows", "linux", "darwin"] as const;
export const deviceArchitectures = ["amd64", "arm64", "386"] as const;
/** C libraries of Linux machines, by which programs are built. */
export const deviceLibcs = ["gnu", "musl"] as const;
export const updateStates = ["current", "behind", "ahead", "failed"] as const;
export const deviceStatuses = ["online", "offline", "updating", "decommissioned", "quarantined"] as const;

/** What an enrollment key wants for a machine that is enrolled already. */
export const reinstalls = ["quarantine", "replace", "new"] as const;
export type Reinstall = (typeof reinstalls)[number];

export type NewDevice = {
  id: string;
  orgId: string;
  siteId: string | null;
  hostname: string;
  os: (typeof deviceSystems)[number];
  arch: (typeof deviceArchitectures)[number];
  libc: (typeof deviceLibcs)[number] | null;
  agentVersion: string;
  watchdogVersion: string | null;
  hardwareId: string | null;
  serialNumber: string | null;
  labels: Record<string, string>;
  enrollmentKeyId: string | null;
  reinstall: Reinstall;
};

export type DeviceInput = {
  id: string;
  orgId: string;
  siteId: string;
  hostname: string;
  os: string;
  arch: string;
  libc: string;
  agentVersion: string;
  watchdogVersion: string;
  hardwareId: string;
  serialNumber: string;
  labels: Record<string, string>;
  enrollmentKeyId: string;
  reinstall: string;
};

/** What people may change of a device. */
export type DeviceFields = { siteId: string | null; hostname: string; autoUpdateEnabled: boolean };
export type DevicePatch = { siteId: string; hostname: string; autoUpdateEnabled: boolean };

/** Paths of an update mask; the organization is none of them. */
export const devicePaths = ["site_id", "hostname", "auto_update_enabled"] as const;

/** The fields of a new device, empty optional texts as null; throws `validation_failed` naming each bad field. */
export function newDevice(input: DeviceInput): NewDevice {
  const check = checks();
  const device: NewDevice = {
    id: idField("id", input.id, check),
    orgId: idField("orgId", input.orgId, check),
    siteId: input.siteId === "" ? null : idField("siteId", input.siteId, check),
    hostname: hostnameField(input.hostname, check),
    os: check.oneOf("os", input.os, deviceSystems),
    arch: check.oneOf("arch", input.arch, deviceArchitectures),
    libc: input.libc === "" ? null : check.oneOf("libc", input.libc, deviceLibcs),
    agentVersion: check.text("agentVersion", input.agentVersion, 50),
    watchdogVersion: optionalText("watchdogVersion", input.watchdogVersion, 50, check),
    hardwareId: optionalText("hardwareId", input.hardwareId, 255, check),
    serialNumber: optionalText("serialNumber", input.serialNumber, 255, check),
    labels: check.labels("labels", input.labels),
    enrollmentKeyId: input.enrollmentKeyId === "" ? null : idField("enrollmentKeyId", input.enrollmentKeyId, check),
    reinstall: input.reinstall === "" ? "quarantine" : check.oneOf("reinstall", input.reinstall, reinstalls),
  };
  if (input.agentVersion === "") check.fail("agentVersion", "1 to 50 characters");
  check.done();
  return device;
}

/** The masked fields of a change; throws `no_updates` or `validation_failed`. */
export function deviceChange(paths: readonly string[], patch: DevicePatch): Partial<DeviceFields> {
  const requested = devicePaths.filter((path) => paths.includes(path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const check = checks();
  const change: Partial<DeviceFields> = {};
  for (const path of requested) {
    if (path === "hostname") change.hostname = hostnameField(patch.hostname, check);
    if (path === "auto_update_enabled") change.autoUpdateEnabled = patch.autoUpdateEnabled;
    if (path === "site_id") change.siteId = patch.siteId === "" ? null : idField("siteId", patch.siteId, check);
  }
  check.done();
  return change;
}

/** What people read of a device that is quarantined because of its hardware id. */
export function cloneReason(ownerId: string): string {
  return `Enrolled with the hardware id of device ${ownerId}`;
}

/**
 * What becomes of a device that enrolls with the hardware id of a trusted one, `owner`, that is not decommissioned: as
 * its key wants while the owner is offline, else quarantined, so that a clone never replaces a device that is there.
 * Null without an owner.
 */
export function reinstallOf(owner: { status: string } | null, wanted: Reinstall): Reinstall | null {
  if (owner === null) return null;
  return owner.status === "offline" ? wanted : "quarantine";
}

/**
 * Checks that an organization and its partner accept new devices. Throws `partner_inactive` or `organization_inactive`.
 */
export function requireEnrollable(partner: { status: string }, organization: { status: string }): void {
  if (partner.status !== "active") {
    throw new AppError("partner_inactive", "Partner is not active", { facts: { status: partner.status } });
  }
  if (organization.status === "churned") {
    throw new AppError("organization_inactive", "Organization is not active", { facts: { status: "churned" } });
  }
}

/** Throws `limit_reached` when `count` devices, the new one included, are more than a cap allows; null is no cap. */
export function requireRoom(whose: "organization" | "partner", count: number, limit: number | null): void {
  if (limit === null || count <= limit) return;
  throw new AppError("limit_reached", `The ${whose}'s limit of devices is reached`, {
    facts: { limit, limitOf: whose },
  });
}

export function idField(field: string, value: string, check: Checks): string {
  if (!isUuid(value)) check.fail(field, "Must be a UUID");
  return value.toLowerCase();
}

/** Control characters, line separators and what turns the direction of text around make one name look like another. */
const misleading = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** Whether a text is a host name as the platform stores it. */
export function isHostname(value: string): boolean {
  return nameError(value) === null && !misleading.test(value);
}

function hostnameField(value: string, check: Checks): string {
  const name = value.trim();
  if (misleading.test(name)) check.fail("hostname", "Must not contain control characters");
  return check.name("hostname", name);
}

function optionalText(field: string, value: string, max: number, check: Checks): string | null {
  return value === "" ? null : check.text(field, value, max);
}
