import type { ListDevicesRequest } from "@muster/proto/muster/tenancy/v1/device_pb";
import { z } from "zod";
import { arch, os } from "../fields/agent-builds.ts";
import { id, only, timeIn, timeOrNull, timestampOf, valuesIn } from "../fields/schemas.ts";

export const deviceStatus = z.enum(["online", "offline", "updating", "decommissioned", "quarantined"]);
export const updateState = z.enum(["current", "behind", "ahead", "failed"]);

/** Filters of the list of devices, and of what is done with all that match. */
export const deviceFilters = z.object({
  orgId: id.optional().meta({ description: only.organization }),
  siteId: id.optional().meta({ description: only.site }),
  groupId: id.optional().meta({ description: only.group }),
  status: valuesIn(deviceStatus, 20)
    .optional()
    .meta({ description: only.oneOf, example: ["offline"] }),
  os: os.optional().meta({ description: only.equal }),
  arch: arch.optional().meta({ description: only.equal }),
  agentVersion: z.string().max(64).optional().meta({ description: only.equal, example: "1.4.2" }),
  agentVersionRange: z.string().max(256).optional().meta({
    description: "Only records with an agent version in this range, in node-semver's grammar.",
    example: ">=1.4.0 <2",
  }),
  updateState: updateState.optional().meta({ description: only.equal }),
  hardwareId: z.string().max(255).optional().meta({ description: "Only records with this value, ignoring case." }),
  serialNumber: z.string().max(255).optional().meta({ description: "Only records with this value, ignoring case." }),
  address: z.string().max(64).optional().meta({
    description: "Only records last seen at this IP address, or in this network.",
    example: "192.0.2.0/24",
  }),
  label: z.string().max(319).optional().meta({
    description: "Only records with this label: `name=value`, or `name` for any value.",
    example: "region=eu",
  }),
  seenAfter: timeIn.optional().meta({ description: "Only records last seen at this time or later." }),
  seenBefore: timeIn.optional().meta({ description: "Only records last seen before this time." }),
  enrollmentKeyId: id.optional().meta({ description: "Only devices that enrolled with this key." }),
  search: z.string().max(255).optional().meta({
    description:
      "Only records with a host name, serial number, address or organization that contains this text, ignoring case.",
  }),
});
export type DeviceFilters = z.output<typeof deviceFilters>;

/** The filters as tenancy accepts them. */
export function filterRequest(query: DeviceFilters) {
  const { status: statuses = [], seenAfter, seenBefore, ...texts } = query;
  return { ...texts, statuses, seenAfter: timestampOf(seenAfter), seenBefore: timestampOf(seenBefore) };
}

/** The filters as a client sent them; empty ones were not. */
export function filtersOf(request: ListDevicesRequest): DeviceFilters {
  const { statuses, seenAfter, seenBefore } = request;
  const texts = Object.entries(request).filter(([name, value]) => name in deviceFilters.shape && value !== "");
  const times = Object.entries({ seenAfter: timeOrNull(seenAfter), seenBefore: timeOrNull(seenBefore) });
  return deviceFilters.parse({
    ...Object.fromEntries(texts),
    status: statuses.length > 0 ? statuses : undefined,
    ...Object.fromEntries(times.map(([name, time]) => [name, time ?? undefined])),
  });
}
