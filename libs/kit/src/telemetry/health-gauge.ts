import { type HealthStatus, healthStatuses } from "../formats/health-status.ts";
import type { Gauge } from "./metrics.ts";

/** Sets a gauge of records by health; each status has a value, 0 too. */
export function setByHealth(gauge: Gauge<"health">, statuses: Iterable<HealthStatus>): void {
  const counts = new Map<HealthStatus, number>(healthStatuses.map((status) => [status, 0]));
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  for (const [health, count] of counts) gauge.set({ health }, count);
}
