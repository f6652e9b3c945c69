import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Bus, openBus } from "@muster/bus";
import { createLogger, secretBox } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { tenantMigrations } from "@muster/service";
import { asOwner, type TestDatabase, type TestNats, testDatabase, testNats } from "@muster/testing";
import pg from "pg";
import { type Dispatcher, encryptionKey, startDispatcher } from "./webhooks-dispatcher.ts";
import type { ReceiverAsk, ReceiverCounts } from "./webhooks-receiver.ts";

const local = new URL("../../local/dist/test-cluster.js", import.meta.url);
const migrations = fileURLToPath(new URL("../../../services/webhook-dispatcher/migrations/", import.meta.url));
const receiverProgram = fileURLToPath(new URL("./webhooks-receiver.js", import.meta.url));
/** Each origin has a name: all webhooks of one name share its HOST_CONCURRENCY. */
const nameOf = (port: number) => `origin-${port}.example.test`;
const log = createLogger("bench", "fatal");

type Local = {
  cacheFolders(root: string, temporary: string): string[];
  startTestCluster(folders: string[]): Promise<{ url: string; stop(): Promise<void> }>;
  testNatsServer(folders: string[]): Promise<string>;
};

export type Receiver = {
  ports: number[];
  counts(): Promise<ReceiverCounts>;
  /** `<port> <event id>` of everything that arrived. */
  arrivals(): Promise<Set<string>>;
  reset(): void;
  hang(ports: number[]): void;
  stop(): void;
};

export type Hook = { id: string; orgId: string; port: number; type: string };

export type BenchWebhooks = {
  database: TestDatabase;
  nats: TestNats;
  receiver: Receiver;
  hooks: Hook[];
  /**
   * One process of the service; `role` as DISPATCHER_ROLE. `onStarted` receives its pid before the process does
   * anything.
   */
  start(
    role: "all" | "matcher" | "sender",
    env?: Record<string, string>,
    onStarted?: (pid: number) => void,
  ): Promise<Dispatcher>;
  /** A connection that publishes as an emitter does. */
  emitter(): Promise<Bus>;
  /**
   * Puts deliveries of `payloadBytes` into the queue as the matcher would: of one time, or else one every 10 ms of the
   * past.
   */
  fill(rows: number, payloadBytes: number, at?: Date): Promise<void>;
  clear(): Promise<void>;
};

const eventTypes = ["device.online", "device.offline", "device.updated", "device.enrolled"];

/**
 * PostgreSQL, NATS, a receiver with `origins` listeners, and webhooks over them: four an organization, each for its own
 * event type.
 */
export async function withWebhooks(
  {
    origins,
    webhooks,
    scheme,
    remember = false,
  }: { origins: number; webhooks: number; scheme: "http" | "https"; remember?: boolean },
  use: (bench: BenchWebhooks) => Promise<void>,
): Promise<void> {
  const { cacheFolders, startTestCluster, testNatsServer } = (await import(local.href)) as Local;
  const folders = cacheFolders(fileURLToPath(new URL("../../../", import.meta.url)), tmpdir());
  process.env.MUSTER_TEST_NATS_BIN ??= await testNatsServer(folders);
  const cluster = process.env.MUSTER_TEST_PG_URL ? null : await startTestCluster(folders);
  if (cluster) process.env.MUSTER_TEST_PG_URL = cluster.url;
  const nats = await testNats();
  const dirs = [tenantMigrations, { label: "webhook-dispatcher", path: migrations }];
  const database = await testDatabase({ service: "webhook-dispatcher", dirs });
  const receiver = await startReceiver(origins, scheme, remember);
  const keys = mkdtempSync(join(tmpdir(), "muster-bench-"));
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const started: Dispatcher[] = [];
  const buses: Bus[] = [];
  try {
    const hooks = await insertHooks(database, receiver.ports, webhooks, scheme);
    await use({
      database,
      nats,
      receiver,
      hooks,
      async start(role, env = {}, onStarted = () => undefined) {
        const exceptions = receiver.ports.map((port) => `${scheme}://${nameOf(port)}:${port}=127.0.0.1`).join(",");
        const settings = { DISPATCHER_ROLE: role, EGRESS_TEST_EXCEPTIONS: exceptions, ...env };
        const dispatcher = await startDispatcher(database, nats, keys, settings, onStarted);
        started.push(dispatcher);
        return dispatcher;
      },
      async emitter() {
        const bus = await openBus({
          servers: nats.url,
          seed: nats.seeds["webhook-dispatcher"],
          name: "webhook-dispatcher",
          replicas: 1,
          log,
        });
        buses.push(bus);
        return bus;
      },
      fill: (rows, payloadBytes, at) => fill(owner, rows, payloadBytes, at),
      async clear() {
        await owner.query(
          "TRUNCATE webhook_queue, webhook_deliveries, webhook_attempts, webhook_events, webhook_event_keys",
        );
      },
    });
  } finally {
    for (const bus of buses) await bus.close();
    for (const dispatcher of started) await dispatcher.stop();
    receiver.stop();
    await owner.end();
    await database.drop();
    await nats.remove();
    if (cluster) delete process.env.MUSTER_TEST_PG_URL;
    await cluster?.stop();
    rmSync(keys, { recursive: true });
  }
}

/** An event as emitters publish it. */
export function eventFor(hook: Hook, id: string = randomUUID(), at: Date = new Date()) {
  const data = { hostname: "bench", detail: "x".repeat(400) };
  const event = create(PlatformEventSchema, {
    id,
    type: hook.type,
    timestamp: timestampFromDate(at),
    orgId: hook.orgId,
    partnerId: hook.orgId,
    dataJson: JSON.stringify(data),
  });
  return {
    subject: `events.webhook-dispatcher.${hook.orgId}.${hook.type}`,
    msgId: `${hook.orgId}/${id}`,
    body: toBinary(PlatformEventSchema, event),
  };
}

export async function startReceiver(origins: number, scheme: string, remember: boolean): Promise<Receiver> {
  const child = fork(receiverProgram, [String(origins), scheme, remember ? "remember" : ""], {
    serialization: "advanced",
  });
  const ports = await new Promise<number[]>((resolve) =>
    child.once("message", (message: { ports: number[] }) => resolve(message.ports)),
  );
  const ask = (message: ReceiverAsk) => void child.send(message);
  return {
    ports,
    counts: () =>
      new Promise((resolve) => {
        child.once("message", (message) => resolve(message as ReceiverCounts));
        ask({ type: "counts" });
      }),
    arrivals: () =>
      new Promise((resolve) => {
        child.once("message", (message: { ids: string[] }) => resolve(new Set(message.ids)));
        ask({ type: "ids" });
      }),
    reset: () => ask({ type: "reset" }),
    hang: (ports) => ask({ type: "hang", ports }),
    stop: () => void child.kill(),
  };
}

async function insertHooks(database: TestDatabase, ports: number[], count: number, scheme: string): Promise<Hook[]> {
  const box = secretBox(encryptionKey, "webhook");
  const orgIds = Array.from({ length: Math.ceil(count / eventTypes.length) }, () => randomUUID());
  const hooks = Array.from({ length: count }, (_, n): Hook => {
    const [orgId, port] = [orgIds[Math.floor(n / eventTypes.length)], ports[n % ports.length]];
    return { id: randomUUID(), orgId: orgId ?? "", port: port ?? 0, type: eventTypes[n % eventTypes.length] ?? "" };
  });
  await asOwner(database, async (owner) => {
    for (const { id, orgId, port, type } of hooks) {
      const url = `${scheme}://${nameOf(port)}:${port}/hook`;
      await owner.query(
        `INSERT INTO webhooks (id, org_id, partner_id, name, url_sealed, url_shown, secret_sealed, headers_sealed, events,
                               created_by, created_at, updated_at)
         VALUES ($1, $2, $2, 'Bench', $3, $4, $5, $6, $7, 'bench', now(), now())`,
        [
          id,
          orgId,
          box.seal(Buffer.from(url), `webhooks.url/${id}`),
          url,
          box.seal(Buffer.from("a secret of the bench"), `webhooks.secret/${id}`),
          box.seal(Buffer.from("[]"), `webhooks.headers/${id}`),
          [type],
        ],
      );
      await owner.query(
        "INSERT INTO webhook_endpoint_state (webhook_id, org_id, partner_id, slots) VALUES ($1, $2, $2, 32767)",
        [id, orgId],
      );
    }
  });
  return hooks;
}

async function fill(owner: pg.Client, rows: number, payloadBytes: number, at?: Date): Promise<void> {
  await owner.query({
    name: "fill",
    text: `WITH f AS MATERIALIZED (
         SELECT gen_random_uuid() AS id, gen_random_uuid() AS event_id, h.id AS webhook_id, h.org_id, h.partner_id,
                h.events[1] AS type, coalesce($3::timestamptz, date_trunc('milliseconds', now() - n * interval '10 milliseconds')) AS at
         FROM generate_series(1, $1::int) n
         CROSS JOIN (SELECT (random() * 1e6)::int AS first) AS start
         JOIN (SELECT *, row_number() OVER (ORDER BY id) - 1 AS place, count(*) OVER () AS hooks FROM webhooks) h
           ON h.place = (start.first + n) % h.hooks
       ), e AS (
         INSERT INTO webhook_events (org_id, id, occurred_at, partner_id, type, body)
         SELECT org_id, event_id, at, partner_id, type,
                json_build_object('id', event_id, 'type', type, 'timestamp', at, 'orgId', org_id, 'data',
                                  json_build_object('text', repeat('x', $2::int)))::text FROM f
       ), d AS (
         INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event)
         SELECT id, at, webhook_id, org_id, partner_id, event_id, type FROM f
       )
       INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at)
       SELECT id, at, webhook_id, org_id, partner_id, event_id, at FROM f`,
    values: [rows, Math.max(0, payloadBytes - 220), at ?? null],
  });
  if (!at) await owner.query("ANALYZE webhook_queue; ANALYZE webhook_deliveries; ANALYZE webhook_events");
}
