import { whole } from "@muster/kit";
import { z } from "zod";

export const version = "0.1.0";
export const migrations = new URL("../migrations/", import.meta.url);

/** Settings of whoever signs or verifies notes: the service and the retention worker. */
export const noteSettings = {
  CHECKPOINT_PRIVATE_KEY: z
    .string()
    .describe(
      "name:base64 Ed25519 PKCS#8 keys that sign checkpoints, receipts and exports; the first signs, all verify. " +
        "A key that only verifies may stand as name+hash+base64.",
    ),
  DEPLOYMENT_NAME: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{0,62}$/)
    .default("muster.local")
    .describe("Name of this deployment in the notes it signs; notes of another name do not verify here."),
};

export const settings = {
  ...noteSettings,
  SEAL_BATCH_ROWS: whole(500, 1, 2_000).describe("Most rows sealed in one transaction of one partition."),
  SEAL_BATCH_BYTES: whole(1_048_576, 65_536, 16_777_216).describe("Most bytes of messages in one such transaction."),
  CHECKPOINT_INTERVAL_SECONDS: whole(60, 1, 86_400).describe(
    "Seconds after which a chain that moved gets a new checkpoint.",
  ),
  CHECKPOINT_ROWS: whole(1_000, 1, 1_000_000).describe("Rows after which it gets one sooner."),
  ANCHOR_INTERVAL_SECONDS: whole(3_600, 1, 604_800).describe(
    "Seconds between two deployment anchors, each over the newest checkpoint of every chain.",
  ),
  CHECKPOINT_LOCK_DAYS: whole(0, 0, 36_500).describe(
    "Days for which copies of checkpoints are locked in the archive (object lock); 0 locks nothing.",
  ),
  SEARCH_BUDGET_MS: whole(2_000, 100, 8_000).describe(
    "Milliseconds that a list may look at rows before it answers in part; the same again for its count.",
  ),
  SEARCH_SLOTS: whole(2, 1, 50).describe(
    "Lists of a process that look at rows at a time; below its pool's connections.",
  ),
};
