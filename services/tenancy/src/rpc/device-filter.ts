import { deviceStatuses, idField } from "../rules/device.ts";
import { checks } from "../rules/fields.ts";
import type { DeviceFilter } from "../store/device-list.ts";

/** Filters as the store takes them, empty ones left empty; throws `validation_failed` naming each bad one. */
export function deviceFilter(request: DeviceFilter): DeviceFilter {
  const check = checks();
  const id = (field: "orgId" | "siteId" | "groupId") =>
    request[field] === "" ? "" : idField(field, request[field], check);
  const filter = {
    orgId: id("orgId"),
    siteId: id("siteId"),
    groupId: id("groupId"),
    status: request.status === "" ? "" : check.oneOf("status", request.status, deviceStatuses),
    search: check.text("search", request.search, 255),
  };
  check.done();
  return filter;
}
