import { parseForwardProxy, parseSinkRanges } from "@muster/egress";
import { baseUrls, coupled, messageOf, networks, packageVersion, whole } from "@muster/kit";
import { encryptionSettings } from "@muster/service";
import { z } from "zod";

export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

/** A text, empty by default, that this function reads; what it throws is the setting's error. */
const parsedBy = (parse: (text: string) => unknown) =>
  z
    .string()
    .superRefine((text, { addIssue }) => {
      try {
        parse(text);
      } catch (error) {
        addIssue({ code: "custom", message: messageOf(error) });
      }
    })
    .default("");

export const settings = {
  DISPATCHER_ROLE: z
    .enum(["all", "matcher", "sender"])
    .default("all")
    .describe("Work of this process besides serving RPCs: match events, send deliveries, or both."),
  ...encryptionSettings,
  EGRESS_TEST_EXCEPTIONS: z
    .string()
    .default("")
    .describe(
      "Origins allowed for test webhooks, [scheme://]name:port=address[,…]; production refuses to start with any.",
    ),
  EGRESS_PROXY_URL: parsedBy(parseForwardProxy).describe(
    "http[s]://[user:password@]host[:port] of a proxy that requests to webhooks go through (CONNECT to the checked address), so that they come from its addresses; without it they go directly. Sinks of audit streams always go directly.",
  ),
  AUDIT_SINK_ALLOWED_CIDRS: parsedBy(parseSinkRanges).describe(
    "Private ranges that sinks of audit streams may have, type:cidr[,…], the type https, s3 or syslog; others are refused. Never loopback, link-local, metadata of clouds, or AUDIT_SINK_CLUSTER_CIDRS.",
  ),
  AUDIT_SINK_CLUSTER_CIDRS: networks()
    .default("")
    .describe("Ranges of the cluster itself (pods, services, nodes), cidr[,…]; no sink may have an address in one."),
  IDENTITY_URL: baseUrls(
    "identity",
    "mails about the health of webhooks go through it; without it nobody gets any",
  ).optional(),
  MATCH_BATCH_EVENTS: whole(500, 1, 5_000).describe(
    "Most events matched in one transaction; further ones wait for the next.",
  ),
  INTAKE_OVERDUE_MAX_MS: whole(2_000, 100, 60_000).describe(
    "Milliseconds for which a sendable delivery may be overdue; beyond them POST /events of its organization is refused with 503 or 429.",
  ),
  SENDER_CONCURRENCY: whole(256, 1, 4_096).describe(
    "Deliveries in flight in this process; further ones stay queued. After 2 s without an answer one no longer counts; four times as many may be open, and a partner gets its fair share of these.",
  ),
  WEBHOOK_CONCURRENCY: coupled(
    whole(8, 2, 256).describe("Requests in flight to one webhook, over all senders; further deliveries stay queued."),
    { shared: true },
  ),
  HOST_CONCURRENCY: coupled(
    whole(256, 1, 65_536).describe(
      "Requests in flight to one host name or address, over all webhooks and senders; further deliveries stay queued. A partner gets its fair share, an organization a fair share of its partner's. Each process counts its inline deliveries separately.",
    ),
    { shared: true },
  ),
  ORGANIZATION_SHARE_PERCENT: whole(25, 1, 100).describe(
    "Percent of SENDER_CONCURRENCY for the webhooks of one organization, over all senders; further deliveries stay queued.",
  ),
  DELIVERY_TIMEOUT_MS: whole(30_000, 100, 40_000).describe(
    "Timeout of one request in milliseconds, from connecting to the end of the body; beyond it the attempt fails.",
  ),
  DELIVERY_LEASE_MS: coupled(
    whole(45_000, 1_000, 600_000).describe(
      "Milliseconds of a sender's lease on a delivery; without an outcome by then another sender sends it again.",
    ),
    { above: "DELIVERY_TIMEOUT_MS" },
  ),
  RETRY_JITTER_PERCENT: whole(0, 0, 20).describe("Most percent of a retry's delay added to it at random."),
  BREAKER_ATTEMPTS: whole(100, 1, 1_000_000).describe(
    "Attempts within 60 s from which a webhook's breaker may open; with fewer it stays closed.",
  ),
  BREAKER_DELIVERIES: whole(20, 1, 1_000_000).describe(
    "Deliveries attempted within 60 s from which a webhook's breaker may open; fewer keep their retry schedule.",
  ),
  BREAKER_FAILURE_PERCENT: whole(80, 1, 100).describe(
    "Percent of attempts within 60 s with a transport error, timeout or 5xx at which a webhook's breaker opens.",
  ),
  BREAKER_OPEN_SECONDS: whole(30, 1, 3_600).describe(
    "Seconds of a breaker's first opening; doubled each further time, up to 300.",
  ),
  FAILED_AFTER_HOURS: whole(120, 1, 8_760).describe(
    "Hours from the first failed attempt without a success after which a webhook is marked failed; FAILED_AFTER_DELIVERIES must be reached, too.",
  ),
  FAILED_AFTER_DELIVERIES: whole(50, 1, 1_000_000).describe(
    "Failed attempts at deliveries since the last success after which a webhook is marked failed; FAILED_AFTER_HOURS must be reached, too.",
  ),
  HEALTH_FAILING_ATTEMPTS: whole(5, 1, 1_000_000).describe(
    "Failed attempts in a row from which the health of a webhook is failing.",
  ),
  HEALTH_UNREACHABLE_ATTEMPTS: whole(20, 1, 1_000_000).describe(
    "Failed attempts in a row from which the health of a webhook is unreachable, as it is while its breaker is open.",
  ),
  HEALTH_SLOW_SECONDS: whole(60, 1, 86_400).describe(
    "Seconds for which the oldest delivery of a webhook has been due from which its health is slow.",
  ),
  REPLAY_WINDOW: coupled(
    whole(4, 1, 256).describe(
      "Replayed deliveries of one webhook queued or in flight; live deliveries keep the other slots, and the replay continues as these end.",
    ),
    { below: "WEBHOOK_CONCURRENCY" },
  ),
  REPLAY_INTERVAL_MS: whole(100, 5, 60_000).describe("Minimum milliseconds between two batches queued by a replay."),
  PUSH_CONCURRENCY: whole(32, 1, 1_024).describe(
    "Requests in flight for other services (streams of audit rows); a partner gets its fair share; more are refused with 503.",
  ),
  WEBHOOKS_PER_ORGANIZATION: whole(100, 1, 10_000).describe(
    "Webhooks of one organization; another one is refused with 409.",
  ),
  EVENT_TYPES_PER_ORGANIZATION: whole(200, 1, 10_000).describe(
    "Own event types of one organization; another one is refused with 409.",
  ),
  WEBHOOK_TESTS_PER_MINUTE: whole(10, 1, 1_000).describe(
    "Tests of one webhook in any minute; another one is refused with 429.",
  ),
  SECRET_GRACE_HOURS: whole(24, 0, 720).describe(
    "Default grace period in hours after a rotation, in which the previous secret also signs.",
  ),
  WEBHOOK_RETENTION_DAYS: whole(30, 1, 365).describe(
    "Days of retention for deliveries and their payloads; older ones are deleted.",
  ),
};

type Health = {
  [name in
    | "BREAKER_ATTEMPTS"
    | "BREAKER_DELIVERIES"
    | "BREAKER_FAILURE_PERCENT"
    | "BREAKER_OPEN_SECONDS"
    | "WEBHOOK_CONCURRENCY"
    | "FAILED_AFTER_HOURS"
    | "FAILED_AFTER_DELIVERIES"]: number;
};

/** The settings of breakers and of the status `failed`. */
export function healthLimits(config: Health) {
  return {
    breakerAttempts: config.BREAKER_ATTEMPTS,
    breakerDeliveries: config.BREAKER_DELIVERIES,
    breakerFailurePercent: config.BREAKER_FAILURE_PERCENT,
    breakerOpenSeconds: config.BREAKER_OPEN_SECONDS,
    webhookConcurrency: config.WEBHOOK_CONCURRENCY,
    failedAfterHours: config.FAILED_AFTER_HOURS,
    failedAfterAttempts: config.FAILED_AFTER_DELIVERIES,
  };
}

/** The thresholds of a webhook's health. */
export function healthThresholds(
  config: {
    [name in "HEALTH_FAILING_ATTEMPTS" | "HEALTH_UNREACHABLE_ATTEMPTS" | "HEALTH_SLOW_SECONDS"]: number;
  },
) {
  return {
    failingAttempts: config.HEALTH_FAILING_ATTEMPTS,
    unreachableAttempts: config.HEALTH_UNREACHABLE_ATTEMPTS,
    slowSeconds: config.HEALTH_SLOW_SECONDS,
  };
}
