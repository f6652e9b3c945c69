import { isIP } from "node:net";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { ListDevicesRequest } from "@muster/proto/muster/tenancy/v1/device_pb";
import { deviceArchitectures, deviceStatuses, deviceSystems, idField, updateStates } from "../rules/device.ts";
import { type Checks, checks } from "../rules/fields.ts";
import { rangeField } from "../rules/version-range.ts";
import { type DeviceFilter, type DeviceOwners, deviceSorts } from "../store/device-list.ts";

/** Filters as the store accepts them, empty ones left empty; throws `validation_failed` with each invalid one. */
export function deviceFilter(request: ListDevicesRequest): DeviceFilter {
  const check = checks();
  const statuses = request.statuses.length > 0 ? request.statuses : request.status === "" ? [] : [request.status];
  const filter = {
    ...ownersOf(request, check),
    statuses: statuses.map((status) => check.oneOf("status", status, deviceStatuses)),
    os: request.os === "" ? "" : check.oneOf("os", request.os, deviceSystems),
    arch: request.arch === "" ? "" : check.oneOf("arch", request.arch, deviceArchitectures),
    agentVersionRange: rangeField("agentVersionRange", request.agentVersionRange, check),
    updateState: request.updateState === "" ? "" : check.oneOf("updateState", request.updateState, updateStates),
    hardwareId: check.text("hardwareId", request.hardwareId, 255),
    serialNumber: check.text("serialNumber", request.serialNumber, 255),
    address: addressOf("address", request.address, check),
    agentVersion: check.text("agentVersion", request.agentVersion, 64),
    label: labelOf(check.text("label", request.label, 319)),
    seenAfter: instantOf("seenAfter", request.seenAfter, check),
    seenBefore: instantOf("seenBefore", request.seenBefore, check),
    search: check.text("search", request.search, 255),
    enrollmentKeyId: request.enrollmentKeyId === "" ? "" : idField("enrollmentKeyId", request.enrollmentKeyId, check),
    sort: request.sort === "" ? null : check.oneOf("sort", request.sort, deviceSorts),
  };
  check.done();
  return filter;
}

/** The organization, site and group that narrow a count. Throws as `deviceFilter`. */
export function deviceOwners(request: DeviceOwners): DeviceOwners {
  const check = checks();
  const owners = ownersOf(request, check);
  check.done();
  return owners;
}

function ownersOf(request: DeviceOwners, check: Checks): DeviceOwners {
  const id = (field: keyof DeviceOwners) => (request[field] === "" ? "" : idField(field, request[field], check));
  return { orgId: id("orgId"), siteId: id("siteId"), groupId: id("groupId") };
}

/** An IP address, or a network in CIDR notation. */
function addressOf(field: string, text: string, check: Checks): string {
  if (text === "") return "";
  const [address = "", length, ...more] = text.split("/");
  const version = isIP(address);
  const isLength = length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128));
  if (version === 0 || address.includes("%") || !isLength || more.length > 0) {
    check.fail(field, "An IP address, or a network such as 10.0.0.0/8");
  }
  return text;
}

/** `name=value`, or `name` for a label with any value. */
function labelOf(text: string): DeviceFilter["label"] {
  if (text === "") return null;
  const at = text.indexOf("=");
  return at < 0 ? { name: text, value: null } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

function instantOf(field: string, at: Timestamp | undefined, check: Checks): Date | null {
  if (at === undefined) return null;
  const date = timestampDate(at);
  if (Number.isNaN(date.getTime())) check.fail(field, "Not a time");
  return date;
}
