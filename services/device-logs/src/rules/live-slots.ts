import { AppError, agentQueriesMax, counter, createCounts, gauge } from "@muster/kit";

export type LiveSlots = {
  /**
   * Takes a slot for a query until the returned function is called. Throws `device_busy`, `rate_limited` or
   * `overloaded`.
   */
  enter(deviceId: string, orgId: string): () => void;
};

const refused = counter(
  "muster_device_logs_live_queries_rejected_total",
  "Live queries refused because too many were in flight.",
  ["limit"],
);
const inFlight = gauge("muster_device_logs_live_queries_in_flight", "Live queries in flight.");

/**
 * Limits of live queries in flight: a silent device holds one for 30 s, here and at the calling gateway, and many
 * silent devices together must not use up the slots of all others. Counted per process.
 */
export function liveSlots({ perOrganization, all }: { perOrganization: number; all: number }): LiveSlots {
  const devices = createCounts();
  const organizations = createCounts();
  const count = (deviceId: string, orgId: string, change: 1 | -1) => {
    devices.add(deviceId, change);
    organizations.add(orgId, change);
    inFlight.set(devices.total);
  };
  const refuse = (limit: string, error: AppError) => {
    refused.inc({ limit });
    return error;
  };
  return {
    enter(deviceId, orgId) {
      if (devices.of(deviceId) >= agentQueriesMax) {
        throw refuse("device", new AppError("device_busy", "Too many live queries of this device are in flight"));
      }
      if (organizations.of(orgId) >= perOrganization) {
        const text = "Too many live queries of this organization are in flight";
        throw refuse("organization", new AppError("rate_limited", text, { retryAfterSeconds: 1 }));
      }
      if (devices.total >= all) {
        throw refuse(
          "process",
          new AppError("overloaded", "Too many live queries are in flight", { retryAfterSeconds: 1 }),
        );
      }
      count(deviceId, orgId, 1);
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        count(deviceId, orgId, -1);
      };
    },
  };
}
