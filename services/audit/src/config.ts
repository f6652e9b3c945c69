import { whole } from "@muster/kit";

export const version = "0.1.0";
export const migrations = new URL("../migrations/", import.meta.url);

export const settings = {
  SEAL_BATCH_ROWS: whole(500, 1, 2_000).describe("Most rows sealed in one transaction of one partition."),
  SEAL_BATCH_BYTES: whole(1_048_576, 65_536, 16_777_216).describe("Most bytes of messages in one such transaction."),
  SEARCH_BUDGET_MS: whole(2_000, 100, 8_000).describe(
    "Milliseconds that a list may look at rows before it answers in part; the same again for its count.",
  ),
  SEARCH_SLOTS: whole(2, 1, 50).describe(
    "Lists of a process that look at rows at a time; below its pool's connections.",
  ),
};
