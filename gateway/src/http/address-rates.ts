import { AppError, clientNetwork, counter } from "@muster/kit";
import { lru } from "../auth/lru.ts";
import type { AddressLimit } from "../route/route.ts";

export type AddressRates = {
  /**
   * Counts one request of an address at a route. Throws AppError `rate_limited` with the seconds until the next is
   * admitted.
   */
  count(limit: AddressLimit, route: string, clientAddress: string | null): void;
};

type Bucket = { left: number; atMs: number };

const refused = counter(
  "muster_gateway_address_limit_rejected_total",
  "Requests refused because one address sent too many.",
  ["route"],
);

/**
 * Per address (IPv6: per /64), route and gateway: a burst of a minute's requests, then refilled over time (token
 * bucket). For public routes whose requests are expensive.
 */
export function createAddressRates(options: {
  perMinute: Readonly<Record<AddressLimit, number>>;
  /** Addresses counted at most; an evicted address starts again with a full bucket. */
  max: number;
  now?: () => number;
}): AddressRates {
  const { perMinute, max, now = Date.now } = options;
  const buckets = lru<Bucket>(max);
  return {
    count(limit, route, clientAddress) {
      const most = perMinute[limit];
      const key = `${route} ${clientNetwork(clientAddress)}`;
      const atMs = now();
      const bucket = buckets.get(key) ?? { left: most, atMs };
      bucket.left = Math.min(most, bucket.left + (Math.max(0, atMs - bucket.atMs) * most) / 60_000);
      bucket.atMs = atMs;
      buckets.set(key, bucket);
      if (bucket.left < 1) {
        refused.inc({ route });
        const retryAfterSeconds = Math.max(1, Math.ceil(((1 - bucket.left) * 60) / most));
        throw new AppError("rate_limited", "Too many requests from this address", { retryAfterSeconds });
      }
      bucket.left -= 1;
    },
  };
}
