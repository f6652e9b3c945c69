import {
  baseUrls,
  busSettings,
  coupled,
  flag,
  listenHost,
  mfaMaxAgeMinutes,
  networks,
  nkeySeed,
  privateKeys,
  processSettings,
  publicAddressSettings,
  rpcTlsSettings,
  whole,
} from "@muster/kit";
import { z } from "zod";
import { privateCidrs } from "./request/client-address.ts";

const list = (text: string) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text;

/** Every setting of the gateway. */
export const configSchema = z.object({
  ...processSettings,
  PORT: whole(3000, 0, 65535).describe("Port of the public HTTP server; 0 takes a free one."),
  HOST: listenHost().default("0.0.0.0").describe("Address the public HTTP server listens on."),
  ...publicAddressSettings,
  CONSOLE: z
    .enum(["on", "off", "true", "false", "1", "0"])
    .default("on")
    .transform((text) => text === "on" || text === "true" || text === "1")
    .describe(
      "Serve the console and the sign-in page at the public address; with `off` only the API and its documentation are served.",
    ),
  IDENTITY_URL: baseUrls("identity", "used round-robin"),
  TENANCY_URL: baseUrls("tenancy", "used round-robin"),
  AUDIT_URL: baseUrls("audit", "used round-robin"),
  DEVICE_LOGS_URL: baseUrls("device-logs", "used round-robin"),
  WEBHOOK_DISPATCHER_URL: baseUrls("webhook-dispatcher", "used round-robin"),
  AGENT_RELEASE_URL: baseUrls("agent-release", "used round-robin"),
  ...rpcTlsSettings,
  ...busSettings,
  NATS_NKEY_SEED: nkeySeed().describe("NKey seed of the gateway's NATS user."),
  CALLER_PRIVATE_KEYS: privateKeys("ed25519").describe(
    "id:base64 Ed25519 PKCS#8 keys that sign caller tokens; the first signs.",
  ),
  TRUST_PROXY_HEADERS: flag(false).describe("Take the client's address from proxy headers when the peer is trusted."),
  TRUSTED_PROXY_CIDRS: networks()
    .default(privateCidrs.join(","))
    .transform(list)
    .describe("Networks of proxies whose headers count, comma-separated CIDR blocks; default loopback and private."),
  EDGE_CLIENT_ADDRESS_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, "must be a header name")
    .toLowerCase()
    .optional()
    .describe("Header in which the edge proxy puts the client's address; preferred over X-Forwarded-For."),
  CORS_ORIGINS: z
    .string()
    .default("")
    .transform(list)
    .refine((origins) => origins.every(isOrigin), "must be exact origins such as https://app.example.com")
    .describe("Origins whose pages may call the API, comma-separated and exact; none by default."),
  SESSION_CACHE_MAX: whole(50_000, 100, 1_000_000).describe(
    "Sessions cached at most, and as many access tokens; beyond it the least recently used are resolved again.",
  ),
  KEY_CACHE_MAX: whole(50_000, 100, 1_000_000).describe(
    "API keys, and refusals of keys, cached at most; beyond it the least recently used are resolved again.",
  ),
  AGENT_CACHE_MAX: whole(100_000, 100, 1_000_000).describe(
    "Agents, and refusals of their tokens, cached at most, about a kilobyte each; beyond it the least recently used are resolved again.",
  ),
  AGENT_RATE_LIMIT: whole(100_000, 1, 1_000_000_000).describe(
    "Requests per hour of one agent; more are refused with 429.",
  ),
  DIRECTORY_RATE_LIMIT: whole(1_000_000, 1, 1_000_000_000).describe(
    "Requests per hour of one token of a directory (SCIM); more are refused with 429.",
  ),
  DIRECTORY_CONCURRENCY: whole(2, 1, 1_000).describe(
    "Requests of one directory (SCIM) that a gateway serves concurrently; more of them wait, at most ten seconds.",
  ),
  AGENT_REQUESTS_PER_MINUTE: whole(6_000, 1, 1_000_000_000).describe(
    "Requests per minute of one agent, and its largest burst; more are refused with 429. Counted by each gateway separately.",
  ),
  AGENT_IN_FLIGHT_MAX: whole(20, 1, 1_000_000).describe(
    "Requests of one agent in flight; more are refused with 429, so that one agent cannot use up its organization's share.",
  ),
  SESSION_RATE_LIMIT: whole(100_000, 1, 1_000_000_000).describe(
    "Requests per hour of one session; more are refused with 429.",
  ),
  SSO_REQUESTS_PER_MINUTE: whole(60, 1, 1_000_000).describe(
    "Requests per minute from one address to each public single sign-on route; more are refused with 429. Counted by each gateway separately.",
  ),
  PORTAL_REQUESTS_PER_MINUTE: whole(60, 1, 1_000_000).describe(
    "Requests per minute from one address to each public route of the webhook portal; more are refused with 429. Counted by each gateway separately.",
  ),
  ADDRESSES_COUNTED_MAX: whole(50_000, 100, 1_000_000).describe(
    "Addresses counted at most for SSO_REQUESTS_PER_MINUTE and similar limits, about 200 bytes each; beyond it the least recently seen starts again.",
  ),
  IN_FLIGHT_MAX_INTERACTIVE: whole(1_000, 1, 1_000_000).describe(
    "Requests of users and API keys in flight; more are refused with 503.",
  ),
  IN_FLIGHT_MAX_INGEST: whole(500, 1, 1_000_000).describe(
    "Requests of agents in flight, enrollments excluded; more are refused with 503.",
  ),
  IN_FLIGHT_MAX_ENROLLMENT: whole(100, 1, 1_000_000).describe(
    "Enrollments in flight; more are refused with 503, so that many new agents do not displace the heartbeats of enrolled ones.",
  ),
  IN_FLIGHT_MAX_EXPORT: whole(20, 1, 1_000_000).describe(
    "Exports and release synchronisations in flight; more are refused with 503.",
  ),
  IN_FLIGHT_MAX_STREAM: whole(1_000, 1, 1_000_000).describe(
    "Open streams of changes and followed logs; more are refused with 503, and their clients poll instead.",
  ),
  IN_FLIGHT_MAX_DOWNLOAD: whole(64, 1, 1_000_000).describe(
    "Downloads of agent binaries in flight; more are refused with 503 and a Retry-After of 5 to 30 seconds.",
  ),
  DOWNLOADS_PER_NETWORK: whole(4, 1, 1_000_000).describe(
    "Downloads of agent binaries in flight per client network (IPv6: per /64); more are refused with 503.",
  ),
  IN_FLIGHT_ORGANIZATION_PERCENT: whole(25, 1, 100).describe(
    "Fair share (docs/concepts.md#fair-share) of one organization, the users of one partner, or one system user: percent of the free slots of each IN_FLIGHT_MAX; more requests are refused with 503.",
  ),
  IN_FLIGHT_ANONYMOUS_PERCENT: whole(50, 1, 100).describe(
    "Fair share (docs/concepts.md#fair-share) of the unauthenticated requests of one client network (IPv6: one /64): percent of the free slots of each IN_FLIGHT_MAX; more are refused with 503.",
  ),
  BODY_CONCURRENCY: whole(2_000, 1, 1_000_000).describe(
    "Request bodies received concurrently; for each one more, the slowest is aborted with 408.",
  ),
  BODY_BYTES_MAX: whole(128 * 1024 * 1024, 16 * 1024 * 1024, Number.MAX_SAFE_INTEGER).describe(
    "Bytes of all request bodies in memory while they are received and inflated; a body that would exceed it is refused with 503.",
  ),
  BODY_GRACE_MS: whole(5_000, 100, 600_000).describe(
    "Milliseconds for which a request body may arrive at any rate; BODY_MIN_BYTES_PER_SECOND applies afterwards.",
  ),
  BODY_MIN_BYTES_PER_SECOND: whole(16_384, 1, 1_000_000_000).describe(
    "Minimum rate in bytes per second of a request body that takes longer than BODY_GRACE_MS; a slower one is aborted with 408.",
  ),
  CONNECTIONS_MAX: whole(50_000, 10, 10_000_000).describe(
    "Open connections, agents' channels included; more are closed on arrival, and idle ones from nine tenths on.",
  ),
  EVENT_LOOP_LAG_MAX_MS: whole(200, 1, 600_000).describe(
    "Event-loop lag in milliseconds (p99 of a second) above which classes of requests are shed: downloads first, then exports and enrollments, users and keys last.",
  ),
  SIGN_INS_STARTED_PER_SECOND: whole(200, 1, 100_000).describe(
    "Sign-ins and other unauthenticated requests with password hashing started per second by this gateway, evenly spaced; more are queued.",
  ),
  SIGN_INS_QUEUED_MAX: whole(1_000, 1, 100_000).describe(
    "Queued sign-ins, of which one address holds a fair share (docs/concepts.md#fair-share); more are refused with 503.",
  ),
  MFA_MAX_AGE_MINUTES: mfaMaxAgeMinutes,
  CHANNEL_RECONNECT_SPREAD_MS: whole(60_000, 0, 600_000).describe(
    "Milliseconds over which a stopping gateway spreads the reconnects of its agents; its termination grace must be longer.",
  ),
  HEADERS_TIMEOUT_MS: coupled(
    whole(10_000, 100, 120_000).describe(
      "Milliseconds for which a request's headers may arrive; its connection is closed with 408 afterwards.",
    ),
    { atMost: "REQUEST_TIMEOUT_MS" },
  ),
  REQUEST_TIMEOUT_MS: whole(30_000, 100, 600_000).describe(
    "Milliseconds for which a whole request may arrive; its connection is closed with 408 afterwards.",
  ),
  REPLY_STALL_TIMEOUT_MS: whole(60_000, 100, 600_000).describe(
    "Milliseconds for which a client may receive nothing of a streamed reply before its connection is closed.",
  ),
  KEEP_ALIVE_TIMEOUT_MS: whole(65_000, 100, 600_000).describe(
    "Milliseconds for which an idle connection is kept open; it is closed afterwards.",
  ),
});

export type Config = z.infer<typeof configSchema>;
