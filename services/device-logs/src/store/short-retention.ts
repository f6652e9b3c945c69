import { type Database, type Query, sql, sqlName } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { partitionsOf } from "@muster/service";
import type { EffectiveLimits } from "../rules/log-limits.ts";
import { markPruned, type ShortRetention, shortRetentions } from "./log-limits.ts";
import { deleteInChunks } from "./logs.ts";

const system = { caller: systemCaller("device-logs") };
const dayMs = 86_400_000;

/**
 * Deletes rows of organizations whose retention is shorter than the platform's; returns their number. Only what came of
 * age since the last run is read, found by the BRIN index on created_at.
 */
export async function pruneShortRetentions(
  db: Database,
  platform: EffectiveLimits,
  now: Date,
  go: () => boolean,
): Promise<number> {
  let gone = 0;
  const retentions = await db.inOneBatch(system, (tx) => shortRetentions(tx, platform));
  for (const retention of retentions) {
    if (!go()) break;
    const before = new Date(now.getTime() - retention.days * dayMs);
    gone += await pruneOne(db, retention, before, go);
    if (go()) await db.inOneBatch(system, (tx) => markPruned(tx, retention, before));
  }
  return gone;
}

async function pruneOne(
  db: Database,
  { orgId, kind, prunedBefore }: ShortRetention,
  before: Date,
  go: () => boolean,
): Promise<number> {
  const since = prunedBefore ? sql`created_at >= ${prunedBefore}` : sql`true`;
  const where: Query = sql`org_id = ${orgId}::uuid AND ${since} AND created_at < ${before}`;
  const tables = await db.inOneBatch(system, (tx) => partitionsOf(tx, kind));
  let gone = 0;
  for (const table of tables) gone += await deleteInChunks(db, sqlName(table), where, go);
  return gone;
}
