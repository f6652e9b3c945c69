import { type Query, sql } from "@muster/db";

/**
 * Whether the day of a delivery still has its tables: a webhook that was paused for a month has queued deliveries of
 * days that were dropped, and one row without a table would fail its whole statement.
 */
export const isDayKept = (at: Query): Query =>
  sql`to_regclass('webhook_attempts' || to_char(${at} AT TIME ZONE 'UTC', '_YYYYMMDD')) IS NOT NULL`;
