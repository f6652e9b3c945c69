import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { openBus } from "@muster/bus";
import { type Database, sql, type Tx } from "@muster/db";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { auditPartition } from "@muster/service";
import { type TestDatabase, type TestNats, testNats } from "@muster/testing";
import { cpuUs, familyCpuUs, postmaster } from "./audit-cpu.ts";
import { loadAudit } from "./audit-modules.ts";
import { startAudit, withAuditDatabase } from "./audit-service.ts";
import type { Report } from "./report.ts";

const batchRows = 500;
const publishing = 500;
const drainMs = 120_000;
const system = { caller: systemCaller("audit"), deadlineMs: null };
const log = createLogger("bench", "fatal");

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** What the baseline borrows from the service: the same rows through the same INSERT, without a chain. */
type Sealing = {
  entryOf(event: AuditEvent, now: Date): object;
  sealChain(head: { seq: number; checksum: null }, entries: object[], randomBytes: (count: number) => Buffer): object[];
  insertSealed(tx: Tx, rows: readonly object[]): Promise<void>;
};

/** CPU in microseconds per row; `client` is the sealer, or this process for plain INSERTs. */
type Cost = { perSecond: number; client: number; postgres: number; nats: number; rss: number };
/**
 * `asDrained`: in the very batches that the sealer makes, a partition's each; `asPublished`: in the order of the
 * stream, all chains mixed.
 */
type Plain = "asDrained" | "asPublished";
type Result = { organizations: number; drain: Cost; plain: Record<Plain, Cost> };

/**
 * `npm run bench -- audit-seal [rows] [organizations,…]`: drains rows (300,000) that lie in AUDIT, over 100
 * organizations and then of one; then plain INSERTs of the same rows in batches of the same size on as many
 * connections, batched as the sealer does it and as the rows come.
 */
export async function run([rows = "300000", counts = "100,1"]: string[], report: Report): Promise<void> {
  const results: Result[] = [];
  for (const organizations of counts.split(",").map(Number)) {
    const orgIds = Array.from({ length: organizations }, () =>
      uuidv7().replace(/.$/, () => Math.floor(Math.random() * 16).toString(16)),
    );
    const partnerId = uuidv7();
    const events = Array.from({ length: Number(rows) }, (_, n) =>
      eventOf(orgIds[n % organizations] as string, partnerId, n),
    );
    let drained: Cost | null = null;
    const plain: Partial<Record<Plain, Cost>> = {};
    await withAuditDatabase(async (database) => {
      const nats = await testNats();
      try {
        drained = await drain(database, nats, events);
      } finally {
        await nats.remove();
      }
    });
    for (const order of ["asDrained", "asPublished"] as const) {
      await withAuditDatabase(async (database) => {
        plain[order] = await insertPlainly(database.db, events, organizations === 1 ? 1 : 4, order);
      });
    }
    const { asDrained, asPublished } = plain;
    if (drained && asDrained && asPublished) {
      results.push({ organizations, drain: drained, plain: { asDrained, asPublished } });
    }
  }
  print(results, report);
}

export function eventOf(orgId: string, partnerId: string, n: number): AuditEvent {
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

/** As tenancy emits it. */
export const messageOf = (event: AuditEvent) => ({
  subject: `audit.tenancy.${auditPartition(event.chainId)}`,
  msgId: `${event.chainId}/${event.id}`,
  body: toBinary(AuditEventSchema, event),
});

/** Puts events into the stream that audit reads, as tenancy's relay does. */
export async function publish(nats: TestNats, events: readonly AuditEvent[]): Promise<void> {
  const owner = await openBus({ servers: nats.url, seed: nats.seeds.audit, name: "audit", replicas: 1, log });
  await owner.ensureStream("AUDIT");
  await owner.close();
  const emitter = await openBus({ servers: nats.url, seed: nats.seeds.tenancy, name: "tenancy", replicas: 1, log });
  for (let at = 0; at < events.length; at += publishing) {
    await Promise.all(events.slice(at, at + publishing).map((event) => emitter.transport.publish(messageOf(event))));
  }
  await emitter.close();
}

async function drain(database: TestDatabase, nats: TestNats, events: readonly AuditEvent[]): Promise<Cost> {
  await publish(nats, events);
  const audit = await startAudit(database, { url: nats.url, seed: nats.seeds.audit });
  try {
    const count = async () => {
      const [row] = await database.db.read<{ sealed: number }>(
        system,
        sql`SELECT coalesce(sum(seq), 0)::bigint AS sealed FROM chain_head`,
      );
      return row?.sealed ?? 0;
    };
    const postgres = await postmaster(database.db);
    const cpu = async () => [(await audit.usage()).cpuUs, familyCpuUs(postgres), cpuUs(nats.pid())] as const;
    const before = await cpu();
    const startedMs = performance.now();
    // The sealer did not wait for this bench to check.
    const already = await count();
    for (let sealed = already; sealed < events.length; sealed = await count()) {
      const ms = performance.now() - startedMs;
      if (ms > drainMs) throw new Error(`${sealed} rows sealed in ${drainMs} ms`);
      // Each check uses CPU time of both cores: few checks until the end is near.
      const leftMs = sealed > already ? ((events.length - sealed) / (sealed - already)) * ms : 200;
      await sleep(Math.min(1_000, Math.max(20, leftMs / 2)));
    }
    const rows = events.length - already;
    const seconds = (performance.now() - startedMs) / 1000;
    const after = await cpu();
    const [client, server, bus] = after.map((us, n) => (us - (before[n] ?? 0)) / rows) as [number, number, number];
    return { perSecond: rows / seconds, client, postgres: server, nats: bus, rss: (await audit.usage()).rss };
  } finally {
    await audit.stop();
  }
}

/** The INSERT alone, `workers` batches at a time, rows made before. */
async function insertPlainly(
  db: Database,
  events: readonly AuditEvent[],
  workers: number,
  order: Plain,
): Promise<Cost> {
  const { entryOf, sealChain, insertSealed } = await sealing();
  const now = new Date();
  const chains = new Map<string, object[]>();
  for (const event of events) {
    const entries = chains.get(event.chainId);
    if (entries) entries.push(entryOf(event, now));
    else chains.set(event.chainId, [entryOf(event, now)]);
  }
  const sealed = [...chains.values()].map((entries) => sealChain({ seq: 0, checksum: null }, entries, randomBytes));
  const batches = batchesOf([...chains.keys()], sealed, order);
  const rows = events.length;
  let next = 0;
  const postgres = await postmaster(db);
  // Garbage of creating the rows must not be collected while they are inserted.
  collectGarbage();
  const before = [cpuUs(process.pid), familyCpuUs(postgres)] as const;
  const startedMs = performance.now();
  const worker = async () => {
    for (let batch = batches[next++]; batch; batch = batches[next++]) {
      const each = batch;
      await db.tx(system, (tx) => insertSealed(tx, each));
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  const perSecond = rows / ((performance.now() - startedMs) / 1000);
  const after = [cpuUs(process.pid), familyCpuUs(postgres)] as const;
  const [client, server] = after.map((us, n) => (us - (before[n] ?? 0)) / rows) as [number, number];
  return { perSecond, client, postgres: server, nats: 0, rss: process.memoryUsage().rss };
}

function batchesOf(chainIds: readonly string[], chains: readonly object[][], order: Plain): object[][] {
  const groups = new Map<number, object[][]>();
  chainIds.forEach((chainId, n) => {
    const group = order === "asDrained" ? auditPartition(chainId) : 0;
    groups.set(group, [...(groups.get(group) ?? []), chains[n] ?? []]);
  });
  const queues = [...groups.values()].map(turnByTurn);
  const batches: object[][] = [];
  for (let at = 0; queues.some((queue) => at < queue.length); at += batchRows) {
    for (const queue of queues) if (at < queue.length) batches.push(queue.slice(at, at + batchRows));
  }
  return batches;
}

function turnByTurn(chains: readonly object[][]): object[] {
  const longest = Math.max(...chains.map((chain) => chain.length));
  return Array.from({ length: longest }, (_, n) => chains.flatMap((chain) => chain[n] ?? [])).flat();
}

async function sealing(): Promise<Sealing> {
  return (await loadAudit("rules/entry", "rules/seal", "store/sealed-rows")) as Sealing;
}

function print(results: readonly Result[], report: Report): void {
  const whole = (value: number) => Math.round(value).toLocaleString("en-US");
  const row = (name: string, { perSecond, client, postgres, nats, rss }: Cost) => ({
    "": name,
    "rows/s": whole(perSecond),
    "sealer or client CPU µs/row": client.toFixed(1),
    "PostgreSQL CPU µs/row": postgres.toFixed(1),
    "NATS CPU µs/row": nats.toFixed(1),
    "RSS MB": Math.round(rss / 1_048_576),
  });
  const share = (sealed: Cost, plain: Cost) => `${Math.round((sealed.perSecond / plain.perSecond) * 100)} %`;
  const table = results.flatMap(({ organizations, drain: sealed, plain }) => [
    {
      ...row(`sealed, ${organizations} organizations`, sealed),
      "of plain, same batches": share(sealed, plain.asDrained),
      "of plain, as published": share(sealed, plain.asPublished),
    },
    row(`plain INSERT, same batches, ${organizations} organizations`, plain.asDrained),
    row(`plain INSERT, as published, ${organizations} organizations`, plain.asPublished),
  ]);
  console.table(table);
  for (const { organizations, drain: sealed, plain } of results) {
    const of = `${organizations} ${organizations === 1 ? "chain" : "chains"}`;
    const percent = (base: Cost) => (100 * sealed.perSecond) / base.perSecond;
    report.atLeast(`${of}: sealed`, sealed.perSecond, "rows/s", organizations === 1 ? 5_000 : 8_000);
    report.atLeast(`${of}: of plain INSERTs, same batches`, percent(plain.asDrained), "%", 50);
    report.atLeast(`${of}: of plain INSERTs, as published`, percent(plain.asPublished), "%", 50);
    report.also(`${of}: sealer`, sealed.client, "µs a row");
    report.also(`${of}: PostgreSQL`, sealed.postgres, "µs a row");
    report.also(`${of}: NATS`, sealed.nats, "µs a row");
    report.also(`${of}: plain INSERTs, same batches`, plain.asDrained.perSecond, "rows/s");
  }
}
