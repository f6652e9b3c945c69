import type { Rate } from "../auth/rate-bucket.ts";

/**
 * Header lines about the caller's hourly limit, on every authenticated response (interface, "API key authentication order"),
 * with those of draft-ietf-httpapi-ratelimit-headers beside them. All are of the same moment.
 */
export function rateLines({ limit, remaining, resetSeconds, afterSeconds }: Rate): string[] {
  return [
    "X-RateLimit-Limit",
    `${limit}`,
    "X-RateLimit-Remaining",
    `${remaining}`,
    "X-RateLimit-Reset",
    `${resetSeconds}`,
    "RateLimit",
    `"hourly";r=${remaining};t=${afterSeconds}`,
    "RateLimit-Policy",
    `"hourly";q=${limit};w=3600`,
  ];
}
