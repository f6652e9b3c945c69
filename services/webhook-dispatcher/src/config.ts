import { coupled, packageVersion, whole } from "@muster/kit";
import { encryptionSettings } from "@muster/service";
import { z } from "zod";

export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

export const settings = {
  DISPATCHER_ROLE: z
    .enum(["all", "matcher", "sender"])
    .default("all")
    .describe("Work of this process besides serving RPCs: match events, send deliveries, or both."),
  ...encryptionSettings,
  EGRESS_TEST_EXCEPTIONS: z
    .string()
    .default("")
    .describe("Origins that webhooks of tests may reach, [scheme://]name:port=address[,…]; refused in production."),
  MATCH_BATCH_EVENTS: whole(500, 1, 5_000).describe("Most events matched in one transaction."),
  INTAKE_OLDEST_DUE_MS: whole(2_000, 100, 60_000).describe(
    "Milliseconds that a delivery which could be sent may wait; POST /events of its organization is refused with 503 or 429 beyond it.",
  ),
  SENDER_CONCURRENCY: whole(256, 1, 4_096).describe(
    "Deliveries that this process sends concurrently; those without an answer for 2 s do not count, up to four times as many, of which a partner takes at most half of what others leave.",
  ),
  ENDPOINT_SLOTS: coupled(
    whole(8, 2, 256).describe(
      "Requests to one webhook in flight at once, over all senders; further deliveries stay queued.",
    ),
    { shared: true },
  ),
  HOST_SLOTS: coupled(
    whole(256, 1, 65_536).describe(
      "Requests of queued deliveries to one host name or address in flight at once, over all webhooks and senders; a partner takes at most half of what others leave, an organization half of its partner's part; direct ones are counted by each process separately.",
    ),
    { shared: true },
  ),
  ORGANIZATION_SHARE_PERCENT: whole(25, 1, 100).describe(
    "Percent of SENDER_CONCURRENCY that the webhooks of one organization may take, over all senders; further deliveries stay queued.",
  ),
  DELIVERY_TIMEOUT_MS: whole(30_000, 100, 40_000).describe(
    "Timeout of one request in milliseconds, including connect, headers and body.",
  ),
  DELIVERY_LEASE_MS: coupled(
    whole(45_000, 1_000, 600_000).describe(
      "Milliseconds after which a delivery is sent again when its sender stopped responding.",
    ),
    { above: "DELIVERY_TIMEOUT_MS" },
  ),
  RETRY_JITTER_PERCENT: whole(0, 0, 20).describe("Percent of a retry's delay that is added at most, at random."),
  BREAKER_ATTEMPTS: whole(100, 1, 1_000_000).describe("Attempts within 60 s from which a webhook's breaker may open."),
  BREAKER_DELIVERIES: whole(20, 1, 1_000_000).describe(
    "Deliveries among the attempts of the last 60 s from which a webhook's breaker may open; fewer keep their schedule.",
  ),
  BREAKER_FAILURE_PERCENT: whole(80, 1, 100).describe(
    "Percent of attempts with a transport error, timeout or 5xx at which a webhook's breaker opens.",
  ),
  BREAKER_OPEN_SECONDS: whole(30, 1, 3_600).describe(
    "Seconds for which a breaker stays open the first time; doubled each further time up to 300.",
  ),
  FAILED_AFTER_HOURS: whole(72, 1, 8_760).describe(
    "Hours without a success after which a webhook is marked failed, if FAILED_AFTER_DELIVERIES have failed, too.",
  ),
  FAILED_AFTER_DELIVERIES: whole(50, 1, 1_000_000).describe(
    "Failed deliveries since the last success that FAILED_AFTER_HOURS requires before a webhook is marked failed.",
  ),
  REPLAY_WINDOW: coupled(
    whole(4, 1, 256).describe(
      "Replayed deliveries of one webhook that are queued or in flight at once; live deliveries keep the other slots.",
    ),
    { below: "ENDPOINT_SLOTS" },
  ),
  REPLAY_INTERVAL_MS: whole(100, 5, 60_000).describe(
    "Minimum interval in milliseconds at which a replay queues further deliveries.",
  ),
  PUSH_CONCURRENCY: whole(32, 1, 1_024).describe(
    "Requests for other services (streams of audit rows) in flight at once, of a partner half of what others leave; more are refused with 503.",
  ),
  WEBHOOKS_PER_ORGANIZATION: whole(100, 1, 10_000).describe(
    "Webhooks that an organization may have; another one is refused with 409.",
  ),
  WEBHOOK_TESTS_PER_MINUTE: whole(10, 1, 1_000).describe(
    "Tests of one webhook that are sent in any minute; another one is refused with 429.",
  ),
  SECRET_OVERLAP_HOURS: whole(24, 0, 720).describe(
    "Default of hours for which the previous secret also signs after a rotation.",
  ),
  WEBHOOK_RETENTION_DAYS: whole(30, 1, 365).describe("Days for which deliveries and their payloads are kept."),
};

type Health = {
  [name in
    | "BREAKER_ATTEMPTS"
    | "BREAKER_DELIVERIES"
    | "BREAKER_FAILURE_PERCENT"
    | "BREAKER_OPEN_SECONDS"
    | "ENDPOINT_SLOTS"
    | "FAILED_AFTER_HOURS"
    | "FAILED_AFTER_DELIVERIES"]: number;
};

/** The settings that endpoints are judged by. */
export function healthLimits(config: Health) {
  return {
    breakerAttempts: config.BREAKER_ATTEMPTS,
    breakerDeliveries: config.BREAKER_DELIVERIES,
    breakerFailurePercent: config.BREAKER_FAILURE_PERCENT,
    breakerOpenSeconds: config.BREAKER_OPEN_SECONDS,
    webhookConcurrency: config.ENDPOINT_SLOTS,
    failedAfterHours: config.FAILED_AFTER_HOURS,
    failedAfterDeliveries: config.FAILED_AFTER_DELIVERIES,
  };
}
