import { AppError, counter } from "@muster/kit";

const refusedCounter = counter(
  "muster_device_logs_requests_rejected_total",
  "Requests refused because their device sends too much.",
);

/**
 * Bytes of a request that count as one row: entries are usually smaller, and a few huge ones fill the disk as much as
 * many small ones.
 */
const bytesPerRow = 1_024;

/** Devices remembered at most; the least recently active is evicted first, which only ever raises its limit. */
const maxDevices = 100_000;

export type FloodControl = {
  /**
   * Counts a request's rows and bytes for a device. Throws `rate_limited` with the seconds until there is room again.
   */
  admit(deviceId: string, rows: number, bytes: number): void;
};

/**
 * A minute's rows of each device, refilled all the time (token bucket). A request counts as one row at least, and as
 * one row for each KiB of it, but never as more than the device may send at all.
 */
export function floodControl({ rowsPerMinute, nowMs }: { rowsPerMinute: number; nowMs: () => number }): FloodControl {
  const buckets = new Map<string, { left: number; atMs: number }>();
  const perMs = rowsPerMinute / 60_000;
  return {
    admit(deviceId, rows, bytes) {
      const now = nowMs();
      const wanted = Math.max(1, rows, Math.min(Math.floor(bytes / bytesPerRow), rowsPerMinute));
      const bucket = buckets.get(deviceId);
      const left = bucket ? Math.min(rowsPerMinute, bucket.left + (now - bucket.atMs) * perMs) : rowsPerMinute;
      const admitted = wanted <= left;
      // Deleted and set again, so that the map is ordered by last use.
      buckets.delete(deviceId);
      buckets.set(deviceId, { left: admitted ? left - wanted : left, atMs: now });
      if (buckets.size > maxDevices) {
        const [oldest] = buckets.keys();
        if (oldest !== undefined) buckets.delete(oldest);
      }
      if (admitted) return;
      refusedCounter.inc();
      throw new AppError("rate_limited", "The device sends too many log entries", {
        retryAfterSeconds: Math.ceil((wanted - left) / perMs / 1_000),
      });
    },
  };
}
