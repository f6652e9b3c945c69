import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import type { Bus, BusMessage } from "@muster/bus";
import { type Database, openDatabase, sql, type Tx } from "@muster/db";
import { openEgress, parseExceptions } from "@muster/egress";
import { type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { EventTypeService } from "@muster/proto/muster/webhook/v1/event_type_pb";
import { PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { ReplayService } from "@muster/proto/muster/webhook/v1/replay_pb";
import { WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { tenantMigrations } from "@muster/service";
import { callers, type TestDatabase, testDatabase, testPort } from "@muster/testing";
import { z } from "zod";
import { processBacklog } from "../commands/backlog.ts";
import type { InlineSends } from "../commands/inline.ts";
import { Intake } from "../commands/intake.ts";
import { settings } from "../config.ts";
import { Dispatcher } from "../dispatcher.ts";
import { matchMessages } from "../events/matcher.ts";
import { startIntakeThrottle } from "../jobs/intake-throttle.ts";
import { envelopeBody } from "../rules/envelope.ts";
import { posterOf } from "../rules/poster.ts";
import type { SenderDeps } from "../sender/sender.ts";
import type { Floor } from "../store/backlog.ts";
import type { ReplayLimits } from "../store/replays.ts";
import { sealedAt } from "../store/webhooks.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const log = createLogger("dispatcher-test", "fatal");
export const testKeys = `k1:${Buffer.alloc(32, 7).toString("base64")}`;
const who = { caller: systemCaller("webhook-dispatcher") };
const permissions = ["webhooks:read", "webhooks:write", "events:write"];
const names = ["hooks", "other"];
const changed = {
  SECRET_ENCRYPTION_KEY: testKeys,
  SENDER_CONCURRENCY: "64",
  ORGANIZATION_SHARE_PERCENT: "100",
  HOST_CONCURRENCY: "64",
  DELIVERY_TIMEOUT_MS: "2000",
  PUSH_CONCURRENCY: "4",
  WEBHOOKS_PER_ORGANIZATION: "20",
  WEBHOOK_TESTS_PER_MINUTE: "5",
  INTAKE_OVERDUE_MAX_MS: "1000",
};

export type TestDispatcher = Awaited<ReturnType<typeof startDispatcher>>;

/**
 * The service's RPCs on a real port and a real database, with receivers on this machine; senders are started by tests.
 */
export async function startDispatcher() {
  const path = fileURLToPath(new URL("../../migrations/", import.meta.url));
  const dirs = [tenantMigrations, { label: "webhook-dispatcher", path }];
  const database: TestDatabase = await testDatabase({ service: "webhook-dispatcher", dirs });
  const receivers = await Promise.all([startReceiver(), startReceiver(), startReceiver(), startReceiver()]);
  const exceptions = parseExceptions(
    receivers.flatMap(({ port }) => names.map((name) => `http://${name}.example.test:${port}=127.0.0.1`)).join(","),
    "test",
  );
  const egress = openEgress({ profile: "webhook", exceptions });
  const config = { ...z.object(settings).parse(changed), DRAIN_GRACE_MS: 2_000 };
  let stall: () => Promise<unknown> = async () => undefined;
  const db = lateDatabase(database.db, () => stall());
  const now = () => new Date();
  const parts = new Dispatcher({
    db,
    log,
    now,
    egress,
    sinks: { of: () => egress },
    config,
    learnTenants: async () => false,
  });
  const limits = { ...parts.concurrency, overdueMaxMs: config.INTAKE_OVERDUE_MAX_MS };
  const throttle = startIntakeThrottle({ db: database.db, log, limits });
  const port = await testPort("webhook-dispatcher", parts.registrations(throttle));
  /** Stopped after the tests, unless a test stopped it. */
  const closing: (() => Promise<void>)[] = [];
  const stoppedOnce = <T extends { stop(): Promise<void> }>(part: T): T => {
    let stopped: Promise<void> | null = null;
    const stop = () => (stopped ??= part.stop());
    closing.push(stop);
    return { ...part, stop };
  };
  const rows = <R>(text: string, values: unknown[] = []) => database.db.read<R>(who, { text, values });
  return {
    ...{ database, receivers, egress, throttle, rows, urlOf, otherUrlOf },
    webhooks: (caller: Caller, meta: Meta = {}) => port.client(WebhookService, caller, meta),
    deliveries: (caller: Caller) => port.client(DeliveryService, caller),
    events: (caller: Caller, meta: Meta = {}) => port.client(EventService, caller, meta),
    eventTypes: (caller: Caller, meta: Meta = {}) => port.client(EventTypeService, caller, meta),
    replays: (caller: Caller) => port.client(ReplayService, caller),
    pushes: (caller: Caller) => port.client(PushService, caller),
    ...tenantsOf(database, parts.box, (caller) => port.client(WebhookService, caller)),
    ...pathsOf(parts, database),

    /** The process that serves `events` is suspended after each COMMIT until `run` resolves. */
    stallIntake(run: () => Promise<unknown>): void {
      stall = run;
    },

    /** Works on replays until it is stopped. */
    replayer: (change: Partial<ReplayLimits> = {}) =>
      stoppedOnce(parts.startReplayer({ window: 4, chunk: 1_000, everyMs: 5, ...change })),

    /** Another sender with its own pool. */
    sender({ on, ...change }: Partial<SenderDeps> & { on?: Database } = {}) {
      const db = on ?? openDatabase({ url: database.appUrl, max: 5, name: "sender", log });
      const sender = parts.startSender({ db, ...change });
      const stop = async () => {
        await sender.stop();
        if (!on) await db.close();
      };
      return stoppedOnce({ ...sender, stop });
    },

    /** Another process that matches, with its own pool; it sends what it leases, or nothing. */
    matcher(
      bus: Pick<Bus, "consume">,
      { isSending, ...change }: { db: Database; batchEvents: number; isSending: boolean },
    ) {
      const sends = isSending ? parts.storing.sends : () => null;
      return parts.startMatching(bus, { sends, ...change });
    },

    async stop() {
      for (const close of closing.reverse()) await close();
      await throttle.stop();
      await port.close();
      await egress.close();
      for (const receiver of receivers) await receiver.close();
      await database.drop();
    },
  };
}

type Meta = { idempotencyKey?: string };

const urlOf = ({ port }: Receiver) => `http://hooks.example.test:${port}/hook`;
/** The same receiver under another host name. */
const otherUrlOf = ({ port }: Receiver) => `http://other.example.test:${port}/hook`;

/** Organizations, their webhooks, and what is stored of them. */
function tenantsOf(
  { db }: TestDatabase,
  box: Dispatcher["box"],
  webhooks: (caller: Caller) => Client<typeof WebhookService>,
) {
  const rows = <R>(text: string, values: unknown[] = []) => db.read<R>(who, { text, values });
  const changes = "generation = generation + 1";
  return {
    /** A new organization in the copy of the tenants, and its administrator. */
    async organization(partnerId: string = uuidv7()) {
      const orgId = uuidv7();
      await db.tx(who, (tx) =>
        tx.execute(sql`
          INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at)
          VALUES ('organization', ${orgId}, ${partnerId}, ${orgId}, 1, 'active', false, now())`),
      );
      return { orgId, partnerId, admin: callers.orgAdmin(partnerId, orgId, { permissions }) };
    },

    /** A webhook of an organization to a receiver, for every event. */
    async webhook(admin: Caller, receiver: Receiver, change: object = {}) {
      const wanted = { name: "Hook", url: urlOf(receiver), events: ["*"], ...change };
      const { webhook } = await webhooks(admin).createWebhook(wanted);
      if (!webhook) throw new Error("no webhook came back");
      return webhook;
    },

    /** Deliveries of a webhook, the oldest event first. */
    deliveriesOf: (webhookId: string) =>
      rows<DeliveryRow>("SELECT * FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY created_at, id", [webhookId]),

    /** How many deliveries of a webhook wait. */
    queuedOf: async (webhookId: string) =>
      (await rows("SELECT FROM webhook_queue WHERE webhook_id = $1", [webhookId])).length,

    /** SQL that changes something, as the system. */
    change: (text: string, values: unknown[] = []) => db.tx(who, (tx) => tx.execute({ text, values })),

    maintenance: <T>(run: (tx: Tx) => Promise<T>) => db.tx(who, run),

    /** Sets a webhook's retry policy, as an operator does. */
    policy: (id: string, policy: object) =>
      db.tx(who, (tx) =>
        tx.execute({
          text: `UPDATE webhooks SET retry_policy = $1, ${changes} WHERE id = $2`,
          values: [JSON.stringify(policy), id],
        }),
      ),

    /** Stores another URL for a webhook without validating it. */
    async reseal(id: string, url: string) {
      const sealed = box.seal(Buffer.from(url), sealedAt.url(id));
      const text = `UPDATE webhooks SET url_sealed = $1, ${changes} WHERE id = $2`;
      await db.tx(who, (tx) => tx.execute({ text, values: [sealed, id] }));
    },
  };
}

/** Ways of events into the database, as this process or another one stores them. */
function pathsOf(parts: Dispatcher, { db }: TestDatabase) {
  /** Through another pool, or to a sender that behaves otherwise than the one that was started last. */
  const storing = ({ db: other = db, ...change }: OtherProcess = {}) => {
    const sends = () => {
      const last = parts.storing.sends();
      return last && { ...last, ...change };
    };
    return { ...parts.storing, db: other, sends };
  };
  const rows = <R>(text: string, values: unknown[]) => db.read<R>(who, { text, values });
  const everything = { settled: Number.MAX_SAFE_INTEGER, delivered: Number.MAX_SAFE_INTEGER };
  const paths = {
    /** Publishes an event of the caller's organization by another process. */
    publishBy: ({ orgId: own, actor }: Caller, { type, id }: { type: string; id: string }, other: OtherProcess) => {
      const [orgId, occurredAt, poster] = [own ?? "", new Date(), posterOf(actor)];
      const body = envelopeBody({ id, type, timestamp: occurredAt, orgId, dataJson: "{}" });
      const event = { id, orgId, type, occurredAt, body, poster, traceparent: null, inScope: () => true };
      return new Intake(storing(other)).accept(event);
    },

    /** Puts events through the matcher as the stream would. */
    matchBatch: (messages: readonly BusMessage[], other: OtherProcess = {}) => matchMessages(storing(other), messages),

    /** As matchBatch, and then processes the backlog. */
    async match(messages: readonly BusMessage[]) {
      await paths.matchBatch(messages);
      while ((await paths.processBacklog()).taken > 0);
    },

    /** Puts the events of an organization that went into the outbox through the matcher, in their order. */
    async matchStreamed(orgId: string) {
      const streamed = await rows<Pick<BusMessage, "subject" | "msgId" | "body">>(
        'SELECT subject, msg_id AS "msgId", body FROM outbox WHERE subject LIKE $1 ORDER BY id',
        [`events.webhook-dispatcher.${orgId}.%`],
      );
      const messages = streamed.map((row, n) => ({ ...row, streamSeq: n + 1, deliveries: 1, traceparent: null }));
      await paths.match(messages);
      return messages.length;
    },

    /** Processes the backlog once, as if all of the stream were stored. */
    processBacklog: (floor: Floor = everything) => processBacklog(storing(), floor),
  };
  return paths;
}

/** A pool whose transactions end `late` after their COMMIT, as in a process that was suspended meanwhile. */
export function lateDatabase(db: Database, late: () => Promise<unknown>): Database {
  return {
    ...db,
    async tx(who, run, options) {
      const result = await db.tx(who, run, options);
      await late();
      return result;
    },
    async inOneBatch(who, run, options) {
      const result = await db.inOneBatch(who, run, options);
      await late();
      return result;
    },
  };
}

type OtherProcess = Partial<InlineSends> & { db?: Database };

type DeliveryRow = {
  id: string;
  event: string;
  event_id: string;
  created_at: Date;
  status: string;
  attempt: number;
  origin: string;
  retry_of: string | null;
  response_status: number | null;
  error_code: string;
  error_message: string;
};

/** A message of EVENTS as services emit it. */
export function eventMessage(
  orgId: string,
  {
    id = uuidv7(),
    type = "device.online",
    emitter = "tenancy",
    data = { n: 1 },
    at = new Date(),
    seq = 1,
  }: Partial<EventChange> = {},
): BusMessage {
  const event = create(PlatformEventSchema, {
    id,
    type,
    timestamp: timestampFromDate(at),
    orgId,
    partnerId: uuidv7(),
    dataJson: JSON.stringify(data),
  });
  return {
    subject: `events.${emitter}.${orgId}.${type}`,
    msgId: `${orgId}/${id}`,
    body: toBinary(PlatformEventSchema, event),
    streamSeq: seq,
    deliveries: 1,
    traceparent: null,
  };
}

/** `count` messages of EVENTS. */
export function eventMessages(orgId: string, count: number): BusMessage[] {
  return Array.from({ length: count }, () => eventMessage(orgId));
}

type EventChange = { id: string; type: string; emitter: string; data: object; at: Date; seq: number };
