import type { DeviceCounts } from "@muster/proto/muster/tenancy/v1/device_counts_pb";
import { z } from "zod";

/** Devices of an organization or a site, in lists that were asked for them. */
export const deviceCounts = z
  .object({ online: z.int(), offline: z.int(), updating: z.int(), quarantined: z.int() })
  .meta({ id: "DeviceCounts" });

/** What a list of organizations or sites shows of their devices; both need `devices:read`. */
export const ownerView = {
  deviceCounts: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "With the devices of each by status; needs `devices:read`.", default: "false" }),
  sort: z
    .enum(["name", "-offline"])
    .optional()
    .meta({
      description:
        "`-offline`: the largest share of offline devices first, then more of them, those without devices last. Needs " +
        "`devices:read`, counts all visible devices and is refused after 3 s.",
      default: "name",
    }),
};

export const deviceCountsField = deviceCounts
  .optional()
  .meta({ description: "Only in lists with `deviceCounts` or a `sort` by devices: those that the caller may see." });

export const ownerViewOf = (query: { deviceCounts?: "true" | "false" | undefined; sort?: string | undefined }) => ({
  deviceCounts: query.deviceCounts === "true",
  sort: query.sort ?? "",
});

/** The counts of a message, where it has some. */
export const deviceCountsOf = (counts: DeviceCounts | undefined) => {
  if (!counts) return {};
  const { online, offline, updating, quarantined } = counts;
  return { deviceCounts: { online, offline, updating, quarantined } };
};
