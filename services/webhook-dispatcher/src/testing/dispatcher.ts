import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { BusMessage } from "@muster/bus";
import { type Database, openDatabase, sql, type Tx } from "@muster/db";
import { openEgress, parseExceptions } from "@muster/egress";
import { type Caller, createLogger, secretBox, systemCaller, uuidv7 } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { ReplayService } from "@muster/proto/muster/webhook/v1/replay_pb";
import { WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { register } from "@muster/rpc";
import { tenantMigrations } from "@muster/service";
import { callers, type TestDatabase, testDatabase, testPort } from "@muster/testing";
import { z } from "zod";
import { processBacklog } from "../commands/backlog.ts";
import type { InlineSends } from "../commands/inline.ts";
import { createIntake } from "../commands/intake.ts";
import { createOrganizationCache, type OrganizationCache } from "../commands/organization-cache.ts";
import { healthLimits, settings } from "../config.ts";
import { matchMessages } from "../events/matcher.ts";
import { startIntakeThrottle } from "../jobs/intake-throttle.ts";
import { startReplayer } from "../jobs/replayer.ts";
import { deliveryService } from "../rpc/delivery.ts";
import { eventService } from "../rpc/event.ts";
import { pushService } from "../rpc/push.ts";
import { replayService } from "../rpc/replay.ts";
import { webhookService } from "../rpc/webhook.ts";
import { envelopeBody } from "../rules/envelope.ts";
import { posterOf } from "../rules/poster.ts";
import { type SenderDeps, startSender } from "../sender/sender.ts";
import type { Floor } from "../store/backlog.ts";
import type { ReplayLimits } from "../store/replays.ts";
import { secretPurposes } from "../store/sealed-columns.ts";
import { sealedAt } from "../store/webhooks.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const log = createLogger("dispatcher-test", "fatal");
export const testKeys = `k1:${Buffer.alloc(32, 7).toString("base64")}`;
const who = { caller: systemCaller("webhook-dispatcher") };
const permissions = ["webhooks:read", "webhooks:write", "events:write"];

export type TestDispatcher = Awaited<ReturnType<typeof startDispatcher>>;

/**
 * The service's RPCs on a real port and a real database, with receivers on this machine; senders are started by tests.
 */
export async function startDispatcher() {
  const path = fileURLToPath(new URL("../../migrations/", import.meta.url));
  const dirs = [tenantMigrations, { label: "webhook-dispatcher", path }];
  const database: TestDatabase = await testDatabase({ service: "webhook-dispatcher", dirs });
  const receivers = await Promise.all([startReceiver(), startReceiver(), startReceiver(), startReceiver()]);
  const urlOf = ({ port }: Receiver) => `http://hooks.example.test:${port}/hook`;
  /** The same receiver under another host name. */
  const otherUrlOf = ({ port }: Receiver) => `http://other.example.test:${port}/hook`;
  const names = ["hooks", "other"];
  const exceptions = parseExceptions(
    receivers.flatMap(({ port }) => names.map((name) => `http://${name}.example.test:${port}=127.0.0.1`)).join(","),
    "test",
  );
  const egress = openEgress({ profile: "webhook", exceptions });
  const box = secretBox(testKeys, secretPurposes.webhooks);
  const replyBox = secretBox(testKeys, secretPurposes.replies);
  const now = () => new Date();
  const tenants = { db: database.db, now, learnTenants: async () => false };
  const webhookLimits = { secretGraceHours: 24, perOrganization: 20 };
  const wakes: (() => void)[] = [];
  const wake = () => {
    for (const each of wakes) each();
  };
  const sending: InlineSends[] = [];
  /** The sender that was started last, if one runs. */
  const lastSender = (change: Partial<InlineSends>) => () => {
    const last = sending.at(-1);
    return last ? { ...last, ...change } : null;
  };
  const cache = createOrganizationCache();
  const intakeBy = (db: Database, cache: OrganizationCache, change: Partial<InlineSends> = {}) =>
    createIntake({ db, log, cache, sends: lastSender(change), wake, webhookConcurrency: 8, batchEvents: 500 });
  let stall: () => Promise<unknown> = async () => undefined;
  const intake = intakeBy(
    lateDatabase(database.db, () => stall()),
    cache,
  );
  const throttle = startIntakeThrottle({
    db: database.db,
    log,
    limits: { webhookConcurrency: 8, organizationConcurrency: 64, hostConcurrency: 64, overdueMaxMs: 1_000 },
  });
  const port = await testPort("webhook-dispatcher", [
    register(WebhookService, webhookService({ ...tenants, wake, intake, box, replyBox, egress, ...webhookLimits })),
    register(DeliveryService, deliveryService({ ...tenants, wake, testsPerMinute: 5 })),
    register(EventService, eventService({ ...tenants, intake, throttle })),
    register(ReplayService, replayService({ ...tenants, wake })),
    register(PushService, pushService({ egress, now, timeoutMs: 2_000, concurrency: 4 })),
  ]);
  const closing: (() => Promise<void>)[] = [];
  const config = z.object(settings).parse({});

  const rows = <R>(text: string, values: unknown[] = []) => database.db.read<R>(who, { text, values });
  const dispatcher = {
    database,
    receivers,
    urlOf,
    otherUrlOf,
    rows,
    egress,
    webhooks: (caller: Caller, meta: { idempotencyKey?: string } = {}) => port.client(WebhookService, caller, meta),
    deliveries: (caller: Caller) => port.client(DeliveryService, caller),
    events: (caller: Caller, meta: { idempotencyKey?: string } = {}) => port.client(EventService, caller, meta),
    replays: (caller: Caller) => port.client(ReplayService, caller),
    pushes: (caller: Caller) => port.client(PushService, caller),

    throttle,

    /** The process that serves `events` is suspended after each COMMIT until `run` resolves. */
    stallIntake(run: () => Promise<unknown>): void {
      stall = run;
    },

    /**
     * Publishes an event of the caller's organization by another process: with an empty cache by default, through
     * another pool, or to a sender that behaves otherwise.
     */
    publishBy: (
      caller: Caller,
      { type, id }: { type: string; id: string },
      { db = database.db, organizations = createOrganizationCache(), ...change }: OtherProcess,
    ) => {
      const orgId = caller.orgId ?? "";
      const occurredAt = now();
      const body = envelopeBody({ id, type, timestamp: occurredAt, orgId, dataJson: "{}" });
      const poster = posterOf(caller.actor);
      const event = { id, orgId, type, occurredAt, body, poster, traceparent: null, inScope: () => true };
      return intakeBy(db, organizations, change).accept(event);
    },

    /** Works on replays until it is stopped. */
    replayer(change: Partial<ReplayLimits> = {}) {
      const limits = { window: 4, chunk: 1_000, everyMs: 5, ...change };
      const replayer = startReplayer({ db: database.db, log, limits, wake });
      wakes.push(replayer.wake);
      const stop = async () => {
        wakes.splice(wakes.indexOf(replayer.wake), 1);
        await replayer.stop();
      };
      let stopped: Promise<void> | null = null;
      const once = () => (stopped ??= stop());
      closing.push(once);
      return { stop: once };
    },

    /** A new organization in the copy of the tenants, and its administrator. */
    async organization(partnerId: string = uuidv7()) {
      const orgId = uuidv7();
      await database.db.tx(who, (tx) =>
        tx.execute(sql`
          INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at)
          VALUES ('organization', ${orgId}, ${partnerId}, ${orgId}, 1, 'active', false, now())`),
      );
      return { orgId, partnerId, admin: callers.orgAdmin(partnerId, orgId, { permissions }) };
    },

    /** A webhook of an organization to a receiver, for every event. */
    async webhook(admin: Caller, receiver: Receiver, change: object = {}) {
      const wanted = { name: "Hook", url: urlOf(receiver), events: ["*"], ...change };
      const { webhook } = await port.client(WebhookService, admin).createWebhook(wanted);
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
    change: (text: string, values: unknown[] = []) => database.db.tx(who, (tx) => tx.execute({ text, values })),

    maintenance: <T>(run: (tx: Tx) => Promise<T>) => database.db.tx(who, run),

    /** Sets a webhook's retry policy, as an operator does. */
    policy: (id: string, policy: object) =>
      database.db.tx(who, (tx) =>
        tx.execute(
          sql`UPDATE webhooks SET retry_policy = ${JSON.stringify(policy)}::jsonb, generation = generation + 1 WHERE id = ${id}`,
        ),
      ),

    /** Stores another URL for a webhook without validating it. */
    async reseal(id: string, url: string) {
      const sealed = box.seal(Buffer.from(url), sealedAt.url(id));
      await database.db.tx(who, (tx) =>
        tx.execute(sql`UPDATE webhooks SET url_sealed = ${sealed}, generation = generation + 1 WHERE id = ${id}`),
      );
    },

    /**
     * Puts events through the matcher as the stream would, through another pool or to a sender that behaves otherwise.
     */
    matchBatch: (
      messages: readonly BusMessage[],
      { db = database.db, organizations = cache, ...change }: OtherProcess = {},
    ) => {
      const limits = { batchEvents: 500, retentionDays: 30, webhookConcurrency: 8 };
      return matchMessages(
        { db, log, cache: organizations, now, wake, sends: lastSender(change), ...limits },
        messages,
      );
    },

    /** As matchBatch, and then processes the backlog. */
    async match(messages: readonly BusMessage[]) {
      await dispatcher.matchBatch(messages);
      while ((await dispatcher.processBacklog()).taken > 0);
    },

    /** Puts the events of an organization that went into the outbox through the matcher, in their order. */
    async matchStreamed(orgId: string) {
      const streamed = await rows<Pick<BusMessage, "subject" | "msgId" | "body">>(
        'SELECT subject, msg_id AS "msgId", body FROM outbox WHERE subject LIKE $1 ORDER BY id',
        [`events.webhook-dispatcher.${orgId}.%`],
      );
      const messages = streamed.map((row, n) => ({ ...row, streamSeq: n + 1, deliveries: 1, traceparent: null }));
      await dispatcher.match(messages);
      return messages.length;
    },

    /** Processes the backlog once, as if all of the stream were stored. */
    processBacklog: (floor: Floor = { settled: Number.MAX_SAFE_INTEGER, delivered: Number.MAX_SAFE_INTEGER }) =>
      processBacklog({ db: database.db, log, wake, batchEvents: 500 }, floor),

    /** Another sender with its own pool. */
    sender(change: Partial<SenderDeps> & { on?: Database } = {}) {
      const db = change.on ?? openDatabase({ url: database.appUrl, max: 5, name: "sender", log });
      const sender = startSender({
        db,
        log,
        now,
        box,
        egress,
        concurrency: 64,
        leaseMs: 45_000,
        timeoutMs: 2_000,
        jitterPercent: 0,
        random: Math.random,
        organizationConcurrency: 64,
        hostConcurrency: 64,
        limits: healthLimits(config),
        graceMs: 1_000,
        ...change,
      });
      wakes.push(sender.wake);
      sending.push(sender.inline);
      const stop = async () => {
        wakes.splice(wakes.indexOf(sender.wake), 1);
        sending.splice(sending.indexOf(sender.inline), 1);
        await sender.stop();
        if (!change.on) await db.close();
      };
      let stopped: Promise<void> | null = null;
      const once = () => (stopped ??= stop());
      closing.push(once);
      return { ...sender, stop: once };
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
  return dispatcher;
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

type OtherProcess = Partial<InlineSends> & { db?: Database; organizations?: OrganizationCache };

type DeliveryRow = {
  id: string;
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
