import type { Privilege } from "@muster/db";
import {
  baseUrls,
  busSettings,
  coupled,
  databaseUrl,
  flag,
  mfaMaxAgeMinutes,
  packageVersion,
  preparedStatements,
  processSettings,
  serviceSettings,
  signingKeys,
  whole,
} from "@muster/kit";
import { encryptionSettings } from "@muster/service";
import { z } from "zod";

export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

/** Where archives and checkpoints go: a bucket, a directory, or nowhere. */
export const archiveSettings = {
  ARCHIVE_S3_BUCKET: z.string().optional().describe("Bucket of an S3-compatible storage for archived audit rows."),
  ARCHIVE_S3_ENDPOINT: z.url().optional().describe("URL of the bucket's storage; default: AWS."),
  ARCHIVE_S3_REGION: z.string().default("us-east-1").describe("Region of the bucket."),
  ARCHIVE_S3_PATH_STYLE: z
    .enum(["true", "false"])
    .default("false")
    .describe("Whether the bucket is named in the path instead of the host name (MinIO and others)."),
  ARCHIVE_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe("Access key of the bucket; when empty, the environment's credentials (role of the pod or machine)."),
  ARCHIVE_S3_SECRET_ACCESS_KEY: z.string().optional().describe("Secret of the bucket's access key."),
  ARCHIVE_PREFIX: z
    .string()
    .regex(/^([A-Za-z0-9._-]+\/)*$/, "Must be empty or end in a slash")
    .default("")
    .describe("Prefix of every key in the bucket or directory; empty or ending in a slash."),
  ARCHIVE_DIRECTORY: z.string().optional().describe("Directory for archived audit rows, instead of a bucket."),
  ARCHIVE_TIMEOUT_SECONDS: whole(30, 1, 600).describe("Timeout of one request to the storage in seconds."),
};

export type ArchiveSettings = z.infer<z.ZodObject<typeof archiveSettings>>;

/** Settings of every process that signs or verifies notes: the service and the retention worker. */
export const noteSettings = {
  CHECKPOINT_PRIVATE_KEY: signingKeys().describe(
    "name:base64 Ed25519 PKCS#8 keys that sign checkpoints, receipts and exports; the first signs, all verify. " +
      "A key that only verifies may be given as name+hash+base64.",
  ),
  DEPLOYMENT_NAME: coupled(
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{0,62}$/)
      .default("muster.local")
      .describe("Name of this deployment in the notes it signs; notes of another name do not verify here."),
    { shared: true },
  ),
};

const checkpointCopySettings = {
  CHECKPOINT_DIRECTORY: z.string().optional().describe("Directory for copies of checkpoints and anchors."),
  CHECKPOINT_S3_BUCKET: z
    .string()
    .optional()
    .describe("Bucket for copies of checkpoints and anchors, instead of a directory; preferably append-only."),
  CHECKPOINT_S3_ENDPOINT: z.url().optional().describe("URL of the bucket's storage; default: AWS."),
  CHECKPOINT_S3_REGION: z.string().default("us-east-1").describe("Region of the bucket."),
  CHECKPOINT_S3_PATH_STYLE: flag(false).describe(
    "Whether the bucket is named in the path instead of the host name (MinIO and others).",
  ),
  CHECKPOINT_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe("Access key of the bucket; when empty, the environment's credentials (role of the pod or machine)."),
  CHECKPOINT_S3_SECRET_ACCESS_KEY: z.string().optional().describe("Secret of the bucket's access key."),
  CHECKPOINT_LOCK_DAYS: whole(0, 0, 36_500).describe(
    "Days for which copies of checkpoints are locked (object lock); 0 locks nothing.",
  ),
};

export const settings = {
  ...noteSettings,
  SEAL_BATCH_ROWS: whole(500, 1, 2_000).describe("Most rows sealed in one transaction of one partition."),
  SEAL_BATCH_BYTES: whole(1_048_576, 65_536, 16_777_216).describe(
    "Most bytes of messages sealed in one transaction of one partition.",
  ),
  SEAL_CONCURRENCY: coupled(
    whole(4, 1, 16).describe("Batches that this process seals concurrently, each of another partition."),
    { below: "DATABASE_POOL_MAX" },
  ),
  CHECKPOINT_INTERVAL_SECONDS: whole(60, 1, 86_400).describe(
    "Seconds after which a chain with new rows gets a checkpoint.",
  ),
  CHECKPOINT_ROWS: whole(1_000, 1, 1_000_000).describe(
    "Rows after which a chain gets a checkpoint before CHECKPOINT_INTERVAL_SECONDS have passed.",
  ),
  ANCHOR_INTERVAL_SECONDS: whole(3_600, 1, 604_800).describe(
    "Seconds between two deployment anchors, each over the newest checkpoint of every chain.",
  ),
  ...checkpointCopySettings,
  ...encryptionSettings,
  DATABASE_URL_READ: databaseUrl()
    .optional()
    .describe(
      "Standby of PostgreSQL, as the application role, that exports and reports read; when empty they read the primary.",
    ),
  DATABASE_READ_MAX_LAG_SECONDS: whole(30, 1, 3_600).describe(
    "Seconds that the standby may lag; exports and reports read the primary while it lags more or is unavailable.",
  ),
  WEBHOOK_DISPATCHER_URL: baseUrls("webhook-dispatcher", "streams to webhooks go through it"),
  IDENTITY_URL: baseUrls(
    "identity",
    "alerts ask it who may read them, and send mails through it; without it they wait",
  ).optional(),
  AUDIT_ALERTS_PER_TENANT: whole(50, 0, 10_000).describe(
    "Alerts of audit rows that an organization, a partner or the platform may have; another one is refused with 409.",
  ),
  STREAM_CONCURRENCY: whole(32, 1, 1_024).describe(
    "Streams of audit rows that this process sends concurrently, at most one per organization, and per partner its fair share (half of the free ones).",
  ),
  STREAMS_PER_ORGANIZATION: whole(10, 0, 10_000).describe(
    "Streams of audit rows that an organization may have; another one is refused with 409.",
  ),
  STREAM_POLL_MS: whole(500, 10, 60_000).describe(
    "Milliseconds between checks for rows that streams have yet to send; at least 5000 while no stream is active.",
  ),
  STREAM_FAILED_AFTER_HOURS: whole(72, 1, 8_760).describe(
    "Hours for which a stream may fail before it is marked failed and stops.",
  ),
  STREAM_DIRECTORY: z.string().optional().describe("Directory that streams to the archive write to."),
  STREAM_S3_BUCKET: z
    .string()
    .optional()
    .describe("Bucket that streams to the archive write to, instead of a directory."),
  STREAM_S3_ENDPOINT: z.url().optional().describe("URL of the bucket's storage; default: AWS."),
  STREAM_S3_REGION: z.string().default("us-east-1").describe("Region of the bucket."),
  STREAM_S3_PATH_STYLE: flag(false).describe(
    "Whether the bucket is named in the path instead of the host name (MinIO and others).",
  ),
  STREAM_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe("Access key of the bucket; when empty, the environment's credentials (role of the pod or machine)."),
  STREAM_S3_SECRET_ACCESS_KEY: z.string().optional().describe("Secret of the bucket's access key."),
  AUDIT_S3_ROLES: flag(false).describe(
    "Whether streams write to buckets of customers on AWS by roles that this process assumes with its environment's credentials (role of the pod or machine), with the organization's id as external id.",
  ),
  AUDIT_APPENDED_ROWS_PER_DAY: whole(100_000, 0, 100_000_000).describe(
    "Own events that an organization may append to its chain per day (UTC); beyond it they are refused with 429 until the next day.",
  ),
  SEARCH_BUDGET_MS: whole(2_000, 100, 8_000).describe(
    "Milliseconds that a list may scan rows before it returns a partial page; its count has the same limit separately.",
  ),
  SEARCH_CONCURRENCY: coupled(
    whole(3, 1, 50).describe(
      "Lists of this process that scan rows concurrently, an organization's fair share at most (half of the free ones). Others wait 2 s, round-robin by organization; beyond it they are refused with 503.",
    ),
    { below: "DATABASE_POOL_MAX" },
  ),
  EXPORT_CONCURRENCY: whole(2, 1, 50).describe(
    "Exports of this process that select their rows concurrently, an organization's fair share at most (half of the free ones). Others wait 10 s, round-robin by organization; beyond it they are refused with 503.",
  ),
  AUDIT_EXPORTS_PER_CHAIN: whole(10, 1, 10_000).describe(
    "Exports in parts that an audit chain may have open or kept (7 days); another one is refused with 409.",
  ),
  REPORT_CONCURRENCY: whole(2, 1, 50).describe(
    "Reports of this process that are counted concurrently, an organization's fair share at most (half of the free ones). Others wait 2 s, round-robin by organization; beyond it they are refused with 503.",
  ),
  REPORT_BUDGET_MS: whole(20_000, 100, 120_000).describe(
    "Milliseconds that a report may take, in statements of at most two seconds each; a longer one fails with 400 `time_range_too_wide`.",
  ),
  MFA_MAX_AGE_MINUTES: mfaMaxAgeMinutes,
};

const partitions = Array.from({ length: 16 }, (_, n) => `audit_log_${String(n).padStart(2, "0")}`);

/**
 * What the service's own role must not be able to do: rows and receipts are append-only, and pruning is not its duty.
 */
export const withheld: Record<string, readonly Privilege[]> = {
  audit_log: ["UPDATE", "DELETE"],
  ...Object.fromEntries(partitions.map((name) => [name, ["INSERT", "UPDATE", "DELETE"] as const])),
  chain_head: ["DELETE"],
  prune_receipts: ["INSERT", "UPDATE", "DELETE"],
};

/** Everything that the pruner may do. */
export const prunerGrants: Record<string, readonly Privilege[]> = {
  audit_log: ["SELECT", "DELETE"],
  chain_head: ["SELECT", "UPDATE"],
  retention_policy: ["SELECT"],
  chain_cleanup: ["SELECT", "INSERT", "UPDATE"],
  prune_receipts: ["SELECT", "INSERT"],
  retention_lease: ["SELECT", "UPDATE"],
  outbox: ["INSERT"],
};

/** Settings of the retention worker, a separate process. */
export const retentionSettings = {
  ...processSettings,
  ...noteSettings,
  ...archiveSettings,
  DATABASE_URL_PRUNER: databaseUrl().describe("PostgreSQL as muster_audit_pruner, which alone may delete audit rows."),
  DATABASE_PREPARED_STATEMENTS: preparedStatements,
  RETENTION_DAYS_DEFAULT: whole(365, 1, 3_650).describe(
    "Days that rows are kept where no policy says otherwise: organizations without one, partners, the platform.",
  ),
  RETENTION_INTERVAL_SECONDS: whole(3_600, 1, 86_400).describe("Seconds between retention passes over all chains."),
  RETENTION_RETRY_SECONDS: whole(60, 1, 86_400).describe(
    "Seconds until the next retention pass after one that left chains unpruned.",
  ),
  RETENTION_CHUNK_ROWS: whole(5_000, 1, 50_000).describe("Most rows archived and deleted in one chunk."),
  RETENTION_CHUNK_BYTES: whole(16_777_216, 65_536, 268_435_456).describe(
    "Most bytes of an archived chunk before compression.",
  ),
};

/** Settings of the command that declares a restore, a subset of the service's own. */
export const restoreSettings = {
  ...noteSettings,
  ...checkpointCopySettings,
  DATABASE_URL_APP: serviceSettings.DATABASE_URL_APP,
  ...busSettings,
  NATS_NKEY_SEED: serviceSettings.NATS_NKEY_SEED,
  NATS_STREAM_REPLICAS: serviceSettings.NATS_STREAM_REPLICAS,
  LOG_LEVEL: serviceSettings.LOG_LEVEL,
};

type CopySettings = z.infer<z.ZodObject<typeof checkpointCopySettings>>;
type StreamSettings = z.infer<z.ZodObject<typeof settings>>;

/** Where copies of checkpoints go, as an archive's settings. */
export function copySettings(config: CopySettings): ArchiveSettings {
  return {
    ARCHIVE_DIRECTORY: config.CHECKPOINT_DIRECTORY,
    ARCHIVE_S3_BUCKET: config.CHECKPOINT_S3_BUCKET,
    ARCHIVE_S3_ENDPOINT: config.CHECKPOINT_S3_ENDPOINT,
    ARCHIVE_S3_REGION: config.CHECKPOINT_S3_REGION,
    ARCHIVE_S3_PATH_STYLE: config.CHECKPOINT_S3_PATH_STYLE ? "true" : "false",
    ARCHIVE_S3_ACCESS_KEY_ID: config.CHECKPOINT_S3_ACCESS_KEY_ID,
    ARCHIVE_S3_SECRET_ACCESS_KEY: config.CHECKPOINT_S3_SECRET_ACCESS_KEY,
    ARCHIVE_PREFIX: "",
    ARCHIVE_TIMEOUT_SECONDS: 10,
  };
}

/** Where streams to the archive write, as an archive's settings. */
export function streamStorage(config: StreamSettings): ArchiveSettings {
  return {
    ARCHIVE_DIRECTORY: config.STREAM_DIRECTORY,
    ARCHIVE_S3_BUCKET: config.STREAM_S3_BUCKET,
    ARCHIVE_S3_ENDPOINT: config.STREAM_S3_ENDPOINT,
    ARCHIVE_S3_REGION: config.STREAM_S3_REGION,
    ARCHIVE_S3_PATH_STYLE: config.STREAM_S3_PATH_STYLE ? "true" : "false",
    ARCHIVE_S3_ACCESS_KEY_ID: config.STREAM_S3_ACCESS_KEY_ID,
    ARCHIVE_S3_SECRET_ACCESS_KEY: config.STREAM_S3_SECRET_ACCESS_KEY,
    ARCHIVE_PREFIX: "",
    ARCHIVE_TIMEOUT_SECONDS: 30,
  };
}
