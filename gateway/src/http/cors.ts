const exposed =
  "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After";
const allowedHeaders = "Authorization, Content-Type, X-API-Key, X-Request-Id, Idempotency-Key";

export type Cors = {
  /** Header lines for a reply to this Origin; null when there is none to answer. */
  forReply(origin: string | null): readonly string[] | null;
  /** Header lines for OPTIONS on a path with these methods. */
  forPreflight(origin: string | null, allow: string): readonly string[];
};

/** CORS for exactly the configured origins (Fetch standard, "CORS protocol"). Cookies are never included. */
export function createCors(origins: readonly string[]): Cors {
  const replies = new Map(
    origins.map((origin) => [
      origin,
      ["Access-Control-Allow-Origin", origin, "Access-Control-Expose-Headers", exposed, "Vary", "Origin"],
    ]),
  );
  const others = origins.length > 0 ? ["Vary", "Origin"] : null;
  return {
    forReply: (origin) => (origin === null ? others : (replies.get(origin) ?? others)),
    forPreflight(origin, allow) {
      const lines = ["Allow", allow];
      if (origin !== null && replies.has(origin)) {
        lines.push("Access-Control-Allow-Origin", origin, "Vary", "Origin");
        lines.push("Access-Control-Allow-Methods", allow, "Access-Control-Allow-Headers", allowedHeaders);
        lines.push("Access-Control-Max-Age", "600");
      } else if (others !== null) lines.push(...others);
      return lines;
    },
  };
}
