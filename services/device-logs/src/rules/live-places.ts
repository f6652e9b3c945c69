import { AppError, agentQueriesMax, counter, gauge } from "@muster/kit";

export type LivePlaces = {
  /**
   * Takes a place for a query until the returned function is called. Throws `device_busy`, `rate_limited` or
   * `overloaded`.
   */
  enter(deviceId: string, orgId: string): () => void;
};

const refused = counter("muster_live_queries_refused_total", "Live queries refused because too many were in flight.", [
  "whose",
]);
const underWay = gauge("muster_live_queries_in_flight", "Live queries in flight.");

/**
 * Limits of live queries in flight: a silent device holds one for 30 s, here and at the calling gateway, and many
 * silent devices together must not use up the places of all others. Counted per process.
 */
export function livePlaces({ perOrganization, all }: { perOrganization: number; all: number }): LivePlaces {
  const devices = new Map<string, number>();
  const organizations = new Map<string, number>();
  let total = 0;
  const change = (places: Map<string, number>, id: string, by: 1 | -1) => {
    const held = (places.get(id) ?? 0) + by;
    if (held > 0) places.set(id, held);
    else places.delete(id);
  };
  const refuse = (whose: string, error: AppError) => {
    refused.inc({ whose });
    return error;
  };
  return {
    enter(deviceId, orgId) {
      if ((devices.get(deviceId) ?? 0) >= agentQueriesMax) {
        throw refuse("device", new AppError("device_busy", "Too many live queries of this device are under way"));
      }
      if ((organizations.get(orgId) ?? 0) >= perOrganization) {
        const text = "Too many live queries of this organization are under way";
        throw refuse("organization", new AppError("rate_limited", text, { retryAfterSeconds: 1 }));
      }
      if (total >= all) {
        throw refuse(
          "process",
          new AppError("overloaded", "Too many live queries are under way", { retryAfterSeconds: 1 }),
        );
      }
      change(devices, deviceId, 1);
      change(organizations, orgId, 1);
      total += 1;
      underWay.set(total);
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        change(devices, deviceId, -1);
        change(organizations, orgId, -1);
        total -= 1;
        underWay.set(total);
      };
    },
  };
}
