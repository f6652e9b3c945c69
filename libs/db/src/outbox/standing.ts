import { systemCaller } from "@muster/kit";
import type { Database } from "../client/database.ts";
import { sql } from "../client/statement.ts";
import { relayStore } from "./relay-store.ts";

export type Standing = { outboxWaiting: number; outboxOldestSeconds: number; deadLetters: number; openJobs: number };

/** Pending work in a service's own tables: messages to publish, dead letters, and jobs. */
export async function standingOf(db: Database): Promise<Standing> {
  const who = { caller: systemCaller(db.name) };
  const [backlog, [counts]] = await Promise.all([
    relayStore(db, "status").backlog(),
    db.read<{ letters: number; jobs: number }>(
      who,
      sql`SELECT (SELECT count(*) FROM dead_letter WHERE requeued_at IS NULL)::int AS letters,
                 (SELECT count(*) FROM job WHERE state IN ('queued', 'running'))::int AS jobs`,
    ),
  ]);
  return {
    outboxWaiting: backlog.rows,
    outboxOldestSeconds: backlog.oldestSeconds,
    deadLetters: counts?.letters ?? 0,
    openJobs: counts?.jobs ?? 0,
  };
}
