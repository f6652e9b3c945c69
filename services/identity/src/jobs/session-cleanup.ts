import type { Database } from "@muster/db";
import { counter, type Logger, type Repeating, repeatEvery } from "@muster/kit";
import { removeExpiredDeviceAuthorizations } from "../store/device-authorizations.ts";
import { removeExpiredSessions, removeRevokedSessions } from "../store/sessions.ts";

const everyMs = 600_000;
const batchRows = 2_000;
const dayMs = 86_400_000;

type Deps = { db: Database; retentionDays: number; log: Logger; now: () => Date };

const removed = counter(
  "muster_identity_sessions_removed_total",
  "Rows of ended sessions that were removed after their retention.",
);

/**
 * Removes sessions whose retention after their end is over; returns their number. A refresh token of a removed family
 * is refused like one of an ended family: reuse is detected in active families only.
 */
export async function cleanSessions({ db, retentionDays, now }: Omit<Deps, "log">): Promise<number> {
  const before = new Date(now().getTime() - retentionDays * dayMs);
  let total = 0;
  // An hour later: until then an administrator finds in the database what a client was told.
  const anHourAgo = new Date(now().getTime() - 3_600_000);
  for (let rows = batchRows; rows === batchRows; ) {
    rows = await removeExpiredDeviceAuthorizations(db, batchRows, anHourAgo);
  }
  for (const remove of [removeRevokedSessions, removeExpiredSessions]) {
    for (let rows = batchRows; rows === batchRows; ) {
      rows = await remove(db, batchRows, before);
      removed.inc(rows);
      total += rows;
    }
  }
  return total;
}

/** Cleans every ten minutes until stopped. Replicas that do it at once share the work. */
export function startSessionCleanup(deps: Deps): Repeating {
  const clean = async () => {
    const rows = await cleanSessions(deps);
    if (rows > 0) deps.log.info({ rows }, "ended sessions removed");
  };
  return repeatEvery(everyMs, clean, (err) => deps.log.warn({ err }, "ended sessions cannot be removed now"));
}
