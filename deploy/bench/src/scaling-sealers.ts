import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { testNats } from "@muster/testing";
import { eventOf, publish } from "./audit-seal.ts";
import { startAudit, withAuditDatabase } from "./audit-service.ts";
import { type Step, startShares } from "./scaling-shares.ts";

/** Over all 16 partitions. */
const organizations = 96;
const rowsPerReplica = 50_000;
const warmMs = 2_000;
const measureMs = 6_000;
const system = { caller: systemCaller("audit"), deadlineMs: null };

/** Audit rows sealed a second by 1, 2 and 3 replicas out of a stream that is never empty. */
export async function sealers(): Promise<Step[]> {
  const steps: Step[] = [];
  for (const replicas of [1, 2, 3]) {
    await withAuditDatabase(async (database) => {
      const nats = await testNats();
      const shares = startShares();
      try {
        const partnerId = uuidv7();
        const orgIds = Array.from({ length: organizations }, (_, n) => uuidv7().replace(/.$/, (n % 16).toString(16)));
        const rows = rowsPerReplica * replicas;
        const events = Array.from({ length: rows }, (_, n) =>
          eventOf(orgIds[n % organizations] as string, partnerId, n),
        );
        await publish(nats, events);
        const bus = { url: nats.url, seed: nats.seeds.audit };
        const running = await Promise.all(
          Array.from({ length: replicas }, () => startAudit(database, bus, shares.onStarted)),
        );
        const sealed = async () => {
          const [row] = await database.db.read<{ sealed: number }>(
            system,
            sql`SELECT coalesce(sum(seq), 0)::bigint AS sealed FROM chain_head`,
          );
          return Number(row?.sealed ?? 0);
        };
        await sleep(warmMs);
        const before = await sealed();
        const startedMs = performance.now();
        await sleep(measureMs);
        const after = await sealed();
        steps.push({ replicas, perSecond: (after - before) / ((performance.now() - startedMs) / 1_000) });
        if (after === rows) throw new Error("the stream ran empty while it was measured");
        for (const audit of running) await audit.stop();
      } finally {
        shares.remove();
        await nats.remove();
      }
    });
  }
  return steps;
}
