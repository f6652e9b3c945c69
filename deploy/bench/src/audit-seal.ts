import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { openBus } from "@muster/bus";
import { type Database, sql, type Tx } from "@muster/db";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { auditPartition } from "@muster/service";
import { type TestDatabase, type TestNats, testNats } from "@muster/testing";
import { startAudit, withAuditDatabase } from "./audit-service.ts";

const batchRows = 500;
const publishing = 500;
const drainMs = 120_000;
const system = { caller: systemCaller("audit"), deadlineMs: null };
const log = createLogger("bench", "fatal");

/** What the baseline borrows from the service: the same rows through the same INSERT, without a chain. */
type Sealing = {
  entryOf(event: AuditEvent, now: Date): object;
  sealChain(head: { seq: number; checksum: null }, entries: object[], randomBytes: (count: number) => Buffer): object[];
  insertSealed(tx: Tx, rows: readonly object[]): Promise<void>;
};

type Result = { organizations: number; rows: number; drain: number; plain: number; cpuUs: number; rss: number };

/** `npm run bench -- audit-seal [rows]`: drains rows (100,000) that lie in AUDIT; then plain INSERTs of the same rows. */
export async function run([rows = "100000"]: string[] = []): Promise<void> {
  const results: Result[] = [];
  for (const organizations of [100, 1]) {
    const orgIds = Array.from({ length: organizations }, () =>
      uuidv7().replace(/.$/, () => Math.floor(Math.random() * 16).toString(16)),
    );
    const partnerId = uuidv7();
    const events = Array.from({ length: Number(rows) }, (_, n) =>
      eventOf(orgIds[n % organizations] as string, partnerId, n),
    );
    let drained = { perSecond: 0, cpuUs: 0, rss: 0 };
    let plain = 0;
    await withAuditDatabase(async (database) => {
      const nats = await testNats();
      try {
        drained = await drain(database, nats, events);
      } finally {
        await nats.remove();
      }
    });
    await withAuditDatabase(async (database) => {
      plain = await insertPlainly(database.db, events, organizations === 1 ? 1 : 4);
    });
    results.push({
      organizations,
      rows: events.length,
      drain: drained.perSecond,
      plain,
      cpuUs: drained.cpuUs,
      rss: drained.rss,
    });
  }
  print(results);
}

function eventOf(orgId: string, partnerId: string, n: number): AuditEvent {
  return create(AuditEventSchema, {
    id: uuidv7(),
    timestamp: timestampFromDate(new Date()),
    chainId: orgId,
    orgId,
    partnerId,
    actorType: "user",
    actorId: "01890000-0000-7000-8000-00000000000c",
    actorEmail: `person-${n % 50}@example.com`,
    actorName: `Person ${n % 50}`,
    actorRole: "org-admin",
    sessionId: "01890000-0000-7000-8000-00000000000d",
    action: "site.update",
    resourceType: "site",
    resourceId: "01890000-0000-7000-8000-00000000000e",
    resourceName: `Site ${n}`,
    detailsJson: JSON.stringify({
      changes: {
        before: { name: `Site ${n}`, timezone: "UTC" },
        after: { name: `Site ${n + 1}`, timezone: "Europe/Berlin" },
      },
    }),
    ipAddress: "192.0.2.7",
    userAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)",
    result: "success",
  });
}

async function drain(database: TestDatabase, nats: TestNats, events: readonly AuditEvent[]) {
  const owner = await openBus({ servers: nats.url, seed: nats.seeds.audit, name: "audit", replicas: 1, log });
  await owner.ensureStream("AUDIT");
  await owner.close();
  const emitter = await openBus({ servers: nats.url, seed: nats.seeds.tenancy, name: "tenancy", replicas: 1, log });
  for (let at = 0; at < events.length; at += publishing) {
    await Promise.all(
      events.slice(at, at + publishing).map((event) =>
        emitter.transport.publish({
          subject: `audit.tenancy.${auditPartition(event.chainId)}`,
          msgId: `${event.chainId}/${event.id}`,
          body: toBinary(AuditEventSchema, event),
        }),
      ),
    );
  }
  await emitter.close();
  const audit = await startAudit(database, { url: nats.url, seed: nats.seeds.audit });
  try {
    const before = await audit.usage();
    const startedMs = performance.now();
    for (let sealed = 0; sealed < events.length; ) {
      if (performance.now() - startedMs > drainMs) throw new Error(`${sealed} rows sealed in ${drainMs} ms`);
      await sleep(20);
      const [row] = await database.db.read<{ sealed: number }>(
        system,
        sql`SELECT coalesce(sum(seq), 0)::bigint AS sealed FROM chain_head`,
      );
      sealed = row?.sealed ?? 0;
    }
    const seconds = (performance.now() - startedMs) / 1000;
    const after = await audit.usage();
    return {
      perSecond: events.length / seconds,
      cpuUs: (after.cpuUs - before.cpuUs) / events.length,
      rss: after.rss,
    };
  } finally {
    await audit.stop();
  }
}

/** Rows per second of the INSERT alone, `workers` batches at a time, rows made before. */
async function insertPlainly(db: Database, events: readonly AuditEvent[], workers: number): Promise<number> {
  const { entryOf, sealChain, insertSealed } = await sealing();
  const now = new Date();
  const chains = new Map<string, object[]>();
  for (const event of events) {
    const entries = chains.get(event.chainId);
    if (entries) entries.push(entryOf(event, now));
    else chains.set(event.chainId, [entryOf(event, now)]);
  }
  const sealed = [...chains.values()].map((entries) => sealChain({ seq: 0, checksum: null }, entries, randomBytes));
  // Turn by turn, as the drain sees them.
  const rows = Array.from({ length: sealed[0]?.length ?? 0 }, (_, n) =>
    sealed.flatMap((chain) => chain[n] ?? []),
  ).flat();
  let next = 0;
  const startedMs = performance.now();
  const worker = async () => {
    while (next < rows.length) {
      const batch = rows.slice(next, next + batchRows);
      next += batchRows;
      await db.tx(system, (tx) => insertSealed(tx, batch));
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return rows.length / ((performance.now() - startedMs) / 1000);
}

async function sealing(): Promise<Sealing> {
  const load = (path: string) => import(new URL(`../../../services/audit/dist/${path}.js`, import.meta.url).href);
  const [entry, seal, rows] = await Promise.all([load("rules/entry"), load("rules/seal"), load("store/sealed-rows")]);
  return { ...entry, ...seal, ...rows } as Sealing;
}

function print(results: readonly Result[]): void {
  const whole = (value: number) => Math.round(value).toLocaleString("en-US");
  const table = results.map(({ organizations, rows, drain: drained, plain, cpuUs, rss }) => ({
    organizations,
    rows: whole(rows),
    "sealed rows/s": whole(drained),
    "plain INSERT rows/s": whole(plain),
    "of plain": `${Math.round((drained / plain) * 100)} %`,
    "sealer CPU µs/row": cpuUs.toFixed(1),
    "RSS MB": Math.round(rss / 1_048_576),
    bar: organizations === 1 ? "≥ 5,000, ≥ 50 %" : "≥ 8,000, ≥ 50 %",
  }));
  console.table(table);
}
