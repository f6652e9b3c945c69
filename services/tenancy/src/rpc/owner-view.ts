import { create } from "@bufbuild/protobuf";
import type { CallContext } from "@muster/kit";
import { type DeviceCounts, DeviceCountsSchema } from "@muster/proto/muster/tenancy/v1/device_counts_pb";
import { requirePermission } from "@muster/service";
import { checks } from "../rules/fields.ts";
import { type OwnerView, ownerSorts } from "../rules/owner-list.ts";
import type { DeviceCountsRow } from "../store/owner-devices.ts";

/** What of their devices a list of owners shows. Throws `permission_denied` for callers that may not read devices. */
export function ownerView(context: CallContext, request: { deviceCounts: boolean; sort: string }): OwnerView {
  const check = checks();
  const sort = request.sort === "" ? "name" : check.oneOf("sort", request.sort, ownerSorts);
  check.done();
  if (request.deviceCounts || sort !== "name") requirePermission(context, "devices:read");
  return { hasCounts: request.deviceCounts, sort };
}

/** The counts of an owner as a list's record has them. */
export const deviceCountsField = (counts: DeviceCountsRow | undefined): { deviceCounts?: DeviceCounts } =>
  counts ? { deviceCounts: create(DeviceCountsSchema, counts) } : {};
