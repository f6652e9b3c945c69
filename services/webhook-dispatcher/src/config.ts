import { packageVersion, whole } from "@muster/kit";
import { encryptionSettings } from "@muster/service";
import { z } from "zod";

export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

export const settings = {
  DISPATCHER_ROLE: z
    .enum(["all", "matcher", "sender"])
    .default("all")
    .describe("What this process does beside serving RPCs: match events, send deliveries, or both."),
  ...encryptionSettings,
  EGRESS_TEST_EXCEPTIONS: z
    .string()
    .default("")
    .describe("`[scheme://]name:port=address[,…]` that webhooks may reach although it is not public; tests only."),
  MATCH_BATCH_EVENTS: whole(500, 1, 5_000).describe("Most events matched in one transaction."),
  INTAKE_OLDEST_DUE_MS: whole(2_000, 100, 60_000).describe(
    "Milliseconds that deliveries which could be sent may wait; beyond, POST /events of their organization is refused with 503 or 429.",
  ),
  SENDER_CONCURRENCY: whole(256, 1, 4_096).describe("Requests of this process under way at a time."),
  ENDPOINT_SLOTS: whole(8, 1, 256).describe("Requests to one webhook under way at a time, over all senders."),
  HOST_SLOTS: whole(128, 1, 65_536).describe(
    "Queued requests to one host name or address under way at a time, over all webhooks and senders; those sent directly are counted per process.",
  ),
  ORGANIZATION_SHARE_PERCENT: whole(25, 1, 100).describe(
    "Share of SENDER_CONCURRENCY that the webhooks of one organization take at most, over all senders.",
  ),
  DELIVERY_TIMEOUT_MS: whole(30_000, 100, 40_000).describe("Milliseconds of one request: connect, headers and body."),
  DELIVERY_LEASE_MS: whole(45_000, 1_000, 600_000).describe(
    "Milliseconds after which a delivery whose sender fell silent is sent again; above DELIVERY_TIMEOUT_MS.",
  ),
  RETRY_JITTER_PERCENT: whole(0, 0, 20).describe("Retries come up to this much of their delay later, at random."),
  BREAKER_ATTEMPTS: whole(100, 1, 1_000_000).describe("Attempts within 60 s from which a webhook's breaker may open."),
  BREAKER_DELIVERIES: whole(20, 1, 1_000_000).describe("Deliveries among them; fewer always keep their schedule."),
  BREAKER_FAILURE_PERCENT: whole(80, 1, 100).describe(
    "Share of transport errors, time-outs and 5xx at which it opens.",
  ),
  BREAKER_OPEN_SECONDS: whole(30, 1, 3_600).describe("Seconds it stays open the first time; doubled up to 300."),
  FAILED_AFTER_HOURS: whole(72, 1, 8_760).describe("Hours without a success after which a webhook is marked failed …"),
  FAILED_AFTER_DELIVERIES: whole(50, 1, 1_000_000).describe("… if at least so many deliveries failed meanwhile."),
  REPLAY_WINDOW: whole(4, 1, 256).describe(
    "Replayed deliveries of one webhook that wait or are under way at a time; below ENDPOINT_SLOTS, so that live ones keep slots.",
  ),
  REPLAY_INTERVAL_MS: whole(100, 5, 60_000).describe("Milliseconds after which a replay may queue the next ones."),
  PUSH_CONCURRENCY: whole(32, 1, 1_024).describe(
    "Requests for other services (streams of audit rows) under way at a time.",
  ),
  WEBHOOKS_PER_ORGANIZATION: whole(100, 1, 10_000).describe(
    "Webhooks that an organization may have; another one is refused with 409.",
  ),
  WEBHOOK_TESTS_PER_MINUTE: whole(10, 1, 1_000).describe(
    "Tests of one webhook that are sent in any minute; another one is refused with 429.",
  ),
  SECRET_OVERLAP_HOURS: whole(24, 0, 720).describe("Hours for which the secret before a rotation signs, too."),
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
    endpointSlots: config.ENDPOINT_SLOTS,
    failedAfterHours: config.FAILED_AFTER_HOURS,
    failedAfterDeliveries: config.FAILED_AFTER_DELIVERIES,
  };
}
