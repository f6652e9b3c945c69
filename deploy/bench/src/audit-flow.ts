import { setTimeout as sleep } from "node:timers/promises";
import { openBus } from "@muster/bus";
import { type Database, openDatabase, sql, startRelay } from "@muster/db";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { auditEvent } from "@muster/service";
import { testNats } from "@muster/testing";
import { startAudit, withAuditDatabase } from "./audit-service.ts";
import type { Report } from "./report.ts";

const organizations = 100;
const tickMs = 10;
const pollMs = 3;
const patienceMs = 30_000;
const log = createLogger("bench", "fatal");
const who = { caller: systemCaller("audit"), deadlineMs: null };
const meta = { requestId: "bench", clientAddress: null, userAgent: null, traceparent: null };

/**
 * `npm run bench -- audit-flow [rows/s] [seconds]`: mutations at a steady rate (1,000 a second for 20 s), one
 * transaction with one audit event each; how long until a row can be read, from the begin of its transaction, through
 * outbox, relay, stream and sealer.
 */
export async function run([rate = "1000", seconds = "20"]: string[], report: Report): Promise<void> {
  await withAuditDatabase(async (database) => {
    const nats = await testNats();
    try {
      const bus = await openBus({ servers: nats.url, seed: nats.seeds.audit, name: "audit", replicas: 1, log });
      await bus.ensureStream("AUDIT");
      const db = openDatabase({ url: database.appUrl, max: 5, name: "bench", log });
      // This process is the service whose mutations they are: its relay is woken by each COMMIT.
      const relay = startRelay({ db, transport: bus.transport, log });
      const audit = await startAudit(database, { url: nats.url, seed: nats.seeds.audit });
      try {
        await flow(db, database.db, 100, 3);
        const before = await audit.usage();
        const emitted = await flow(db, database.db, Number(rate), Number(seconds));
        const after = await audit.usage();
        const at = (share: number) => Math.round(emitted.ms[Math.floor(emitted.ms.length * share)] ?? 0);
        console.table([
          {
            "asked rows/s": Number(rate),
            "committed rows/s": Math.round(emitted.perSecond),
            "commit p99 ms": Math.round(emitted.commitMs[Math.floor(emitted.commitMs.length * 0.99)] ?? 0),
            probes: emitted.ms.length,
            "p50 ms": at(0.5),
            "p95 ms": at(0.95),
            "p99 ms": at(0.99),
            "max ms": Math.round(emitted.ms.at(-1) ?? 0),
            "audit CPU µs/row": ((after.cpuUs - before.cpuUs) / emitted.rows).toFixed(0),
          },
        ]);
        report.atMost("row readable after, p99", at(0.99), "ms", 250);
        report.also("row readable after, p50", at(0.5), "ms");
        report.also("committed", emitted.perSecond, "rows/s");
        report.also("COMMIT, p99", emitted.commitMs[Math.floor(emitted.commitMs.length * 0.99)] ?? 0, "ms");
        report.also("audit's CPU", (after.cpuUs - before.cpuUs) / emitted.rows, "µs a row");
      } finally {
        await audit.stop();
        await relay.stop();
        await db.close();
        await bus.close();
      }
    } finally {
      await nats.remove();
    }
  });
}

type Flow = { rows: number; perSecond: number; commitMs: number[]; ms: number[] };

/** Emits at a rate; of each tick the first row is watched until it can be read. */
async function flow(db: Database, reader: Database, rate: number, seconds: number): Promise<Flow> {
  const partnerId = uuidv7();
  const orgIds = Array.from({ length: organizations }, () =>
    uuidv7().replace(/.$/, () => Math.floor(Math.random() * 16).toString(16)),
  );
  const ms: number[] = [];
  const commitMs: number[] = [];
  const under: Promise<void>[] = [];
  const startedMs = performance.now();
  let rows = 0;
  while (performance.now() - startedMs < seconds * 1_000) {
    const due = Math.floor(((performance.now() - startedMs) / 1_000) * rate);
    for (let first = true; rows < due; rows++, first = false) {
      under.push(
        emit(
          db,
          reader,
          String(orgIds[rows % organizations]),
          partnerId,
          commitMs,
          first && rows % 3 === 0 ? ms : null,
        ),
      );
    }
    await sleep(tickMs);
  }
  await Promise.all(under);
  const took = (performance.now() - startedMs) / 1_000;
  const sorted = (values: number[]) => values.sort((a, b) => a - b);
  return { rows, perSecond: rows / took, commitMs: sorted(commitMs), ms: sorted(ms) };
}

async function emit(
  db: Database,
  reader: Database,
  orgId: string,
  partnerId: string,
  commitMs: number[],
  watch: number[] | null,
) {
  const startedMs = performance.now();
  const event = auditEvent(
    "audit",
    { caller: who.caller, meta },
    {
      action: "data.access",
      resource: { type: "site", id: orgId, name: "Bench" },
      orgId,
      partnerId,
      details: {
        changes: { before: { name: "Site 1", timezone: "UTC" }, after: { name: "Site 2", timezone: "Europe/Berlin" } },
      },
    },
  );
  await db.tx(who, async (tx) => tx.emit(event));
  commitMs.push(performance.now() - startedMs);
  if (watch === null) return;
  const id = event.msgId.split("/")[1];
  while (performance.now() - startedMs < patienceMs) {
    const found = await reader.read(who, sql`SELECT FROM audit_log WHERE chain_id = ${orgId} AND id = ${id}`);
    if (found.length > 0) {
      watch.push(performance.now() - startedMs);
      return;
    }
    await sleep(pollMs);
  }
  throw new Error(`a row was not there after ${patienceMs} ms`);
}
