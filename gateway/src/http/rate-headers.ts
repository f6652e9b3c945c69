import type { Rate } from "../auth/rate-bucket.ts";

/**
 * Header lines about the caller's hourly limit, on every authenticated response (docs/behaviour.md#rate-limits), and
 * those of draft-ietf-httpapi-ratelimit-headers. All describe the same moment.
 */
export function rateLines({ limit, remaining, resetSeconds, afterSeconds }: Rate): string[] {
  const left = String(remaining);
  return [
    "X-RateLimit-Limit",
    String(limit),
    "X-RateLimit-Remaining",
    left,
    "X-RateLimit-Reset",
    String(resetSeconds),
    "RateLimit",
    `"hourly";r=${left};t=${afterSeconds}`,
    "RateLimit-Policy",
    `"hourly";q=${limit};w=3600`,
  ];
}
