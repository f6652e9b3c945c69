import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterAll, describe, expect, it } from "@jest/globals";
import { type Database, openDatabase, sql } from "@muster/db";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { callers, outcome, until } from "@muster/testing";
import { claimLock } from "../store/queue.ts";
import { eventMessage, lateDatabase } from "../testing/dispatcher.ts";
import { createEgressStub } from "../testing/egress-stub.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { ownSenders } from "../testing/own-senders.ts";

const { dispatcher, receiver } = ownDispatcher();
const log = createLogger("intake-test", "fatal");
const start = ownSenders(dispatcher);
const type = "device.online";
const databases: Database[] = [];
afterAll(() => Promise.all(databases.map((db) => db.close())));
const ownDatabase = (name: string) => {
  const db = openDatabase({ url: dispatcher.database.appUrl, max: 5, name, log });
  databases.push(db);
  return db;
};
const tenant = async (change: object = {}) => {
  const { orgId, admin } = await dispatcher.organization();
  const webhook = await dispatcher.webhook(admin, receiver, change);
  const publish = async (id: string = uuidv7()) => (await dispatcher.events(admin).publish({ type, orgId, id })).id;
  return { orgId, admin, webhook, publish };
};
const statusOf = async (webhookId: string) => (await dispatcher.deliveriesOf(webhookId))[0]?.status;
const streamed = async (orgId: string) =>
  (await dispatcher.rows("SELECT FROM outbox WHERE subject LIKE $1", [`events.webhook-dispatcher.${orgId}.%`])).length;

type Tenant = Awaited<ReturnType<typeof tenant>>;
const moment = () => {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

describe("a posted event", () => {
  it("is delivered by the process that stored it, without a claim, and shows as any other", async () => {
    start();
    const { admin, webhook, publish, orgId } = await tenant();
    const id = await publish();
    await until("the request", () => receiver.of(id).length === 1);
    await until("the outcome", async () => (await statusOf(webhook.id)) === "delivered");
    expect(receiver.of(id)[0]?.headers).toMatchObject({ "x-service-attempt": "1", "x-service-event-type": type });
    expect(receiver.of(id)[0]?.headers["x-service-possible-duplicate"]).toBeUndefined();
    expect(await streamed(orgId)).toBe(0);
    expect(await dispatcher.queuedOf(webhook.id)).toBe(0);
    const { deliveries } = await dispatcher.deliveries(admin).listDeliveries({ webhookId: webhook.id });
    expect(deliveries).toMatchObject([{ eventId: id, status: "delivered", attempt: 1, responseStatus: 200 }]);
  });

  it("has its requests written before its answer, once the receiver's connections are open", async () => {
    start();
    const { admin, webhook } = await tenant();
    await dispatcher.webhook(admin, receiver);
    const order: string[] = [];
    const accept = async () => {
      order.length = 0;
      await dispatcher.publishBy(admin, { type, id: uuidv7() }, {});
      order.push("answer");
    };
    const origin = new URL(dispatcher.urlOf(receiver)).origin;
    const note = (message: unknown) => {
      if ((message as { request: { origin: string } }).request.origin === origin) order.push("request");
    };
    subscribe("undici:client:sendHeaders", note);
    try {
      await accept();
      await until("both outcomes", async () => (await dispatcher.queuedOf(webhook.id)) === 0 && order.length === 3);
      await accept();
      expect(order).toEqual(["request", "request", "answer"]);
    } finally {
      unsubscribe("undici:client:sendHeaders", note);
    }
  });

  it("is stored before the answer, and waits for a sender when none runs", async () => {
    const { webhook, publish } = await tenant();
    const id = await publish();
    expect(await dispatcher.deliveriesOf(webhook.id)).toMatchObject([{ status: "pending", event_id: id }]);
    start();
    await until("the request", () => receiver.of(id).length === 1);
  });

  it("makes one delivery per webhook when it comes by POST and by the stream together", async () => {
    start();
    const { orgId, webhook, publish } = await tenant();
    const ids = Array.from({ length: 20 }, () => uuidv7());
    const halves = [ids.slice(0, 10), ids.slice(10)];
    const streaming = halves.map((half) => dispatcher.matchBatch(half.map((id) => eventMessage(orgId, { id }))));
    await Promise.all([...ids.map((id) => publish(id)), ...streaming]);
    // The events that the stream's path backlogged.
    await dispatcher.match([]);
    await until("all outcomes", async () => {
      const rows = await dispatcher.deliveriesOf(webhook.id);
      return rows.length > 0 && rows.every(({ status }) => status === "delivered");
    });
    expect(ids.map((id) => receiver.of(id).length)).toEqual(ids.map(() => 1));
    expect(await dispatcher.deliveriesOf(webhook.id)).toHaveLength(20);
  });

  it("is delivered once when posted twice under its id", async () => {
    start();
    const { webhook, publish } = await tenant();
    const id = await publish();
    await Promise.all([publish(id), publish(id)]);
    await until("the outcome", async () => (await statusOf(webhook.id)) === "delivered");
    expect(receiver.of(id)).toHaveLength(1);
    expect(await dispatcher.deliveriesOf(webhook.id)).toHaveLength(1);
  });

  it("is refused and stores nothing for another organization, or for none", async () => {
    const { orgId } = await dispatcher.organization();
    const other = await tenant();
    const publish = (named: string) => outcome(dispatcher.events(other.admin).publish({ type, orgId: named }));
    expect([await publish(orgId), await publish(uuidv7())]).toEqual([
      "organization_not_found",
      "organization_not_found",
    ]);
  });

  it("is refused and stores nothing for another partner's organization", async () => {
    start();
    const { orgId, webhook, publish } = await tenant();
    for (let n = 0; n < 2; n++) await publish();
    const outsider = callers.partnerAdmin(uuidv7(), { permissions: ["events:write"] });
    const refused = await Promise.all([
      publish(),
      outcome(dispatcher.events(outsider).publish({ type, orgId })),
      publish(),
    ]);
    expect(refused[1]).toBe("organization_not_found");
    expect(await dispatcher.deliveriesOf(webhook.id)).toHaveLength(4);
  });

  it("is delivered to each webhook that was created before its answer", async () => {
    start();
    const { orgId, admin, publish } = await tenant();
    const made: { id: string; atMs: number }[] = [];
    const posted: { id: string; atMs: number }[] = [];
    const posting = async () => {
      for (let n = 0; n < 60; n++) {
        const id = await publish();
        posted.push({ id, atMs: performance.now() });
      }
    };
    const making = async () => {
      for (let n = 0; n < 10; n++) {
        const { id } = await dispatcher.webhook(admin, dispatcher.receivers[1]);
        made.push({ id, atMs: performance.now() });
      }
    };
    await Promise.all([posting(), making()]);
    // Events that met a change go over the stream.
    const rows = await dispatcher.rows<{ msg_id: string }>("SELECT msg_id FROM outbox WHERE subject LIKE $1", [
      `events.webhook-dispatcher.${orgId}.%`,
    ]);
    const inStream = rows.map(({ msg_id }) => msg_id.split("/")[1] ?? "");
    await dispatcher.match(inStream.map((id) => eventMessage(orgId, { id, type })));
    for (const hook of made) {
      const got = new Set((await dispatcher.deliveriesOf(hook.id)).map(({ event_id }) => event_id));
      const missed = posted.filter(({ id, atMs }) => atMs > hook.atMs && !got.has(id));
      expect(missed).toEqual([]);
    }
  }, 30_000);
});

describe("a webhook that is created or changed during a post of its organization", () => {
  const answers = (posted: Promise<unknown>, made: Promise<unknown>) => {
    const order: string[] = [];
    return Promise.all([posted.then(() => order.push("post")), made.then(() => order.push("webhook"))]).then(
      () => order,
    );
  };
  const changes = {
    created: ({ admin }: Tenant) => dispatcher.webhook(admin, receiver),
    changed: ({ admin, webhook: { id } }: Tenant) =>
      dispatcher.webhooks(admin).updateWebhook({ id, updateMask: { paths: ["events"] }, change: { events: ["*"] } }),
  };

  it.each(["created", "changed"] as const)(
    "%s after COMMIT is answered after the post, however late that is",
    async (kind) => {
      const own = await tenant();
      const stored = moment();
      const late = moment();
      dispatcher.stallIntake(() => {
        stored.resolve();
        return late.promise;
      });
      try {
        const posted = own.publish();
        await stored.promise;
        const changed = changes[kind](own);
        const order = answers(posted, changed);
        await until("the change", async () => {
          const rows = await dispatcher.rows<{ n: number }>(
            "SELECT sum(generation)::int AS n FROM webhooks WHERE org_id = $1",
            [own.orgId],
          );
          return rows[0]?.n === 2;
        });
        // By now, an answer that does not wait would be here.
        for (let n = 0; n < 20; n++) await dispatcher.webhooks(own.admin).getWebhook({ id: own.webhook.id });
        late.resolve();
        expect(await order).toEqual(["post", "webhook"]);
      } finally {
        dispatcher.stallIntake(async () => undefined);
        late.resolve();
      }
    },
  );

  it.each(["created", "changed"] as const)(
    "%s after the COMMIT of another process is answered after its post",
    async (kind) => {
      const own = await tenant();
      const stored = moment();
      const db = lateDatabase(ownDatabase("other"), async () => {
        stored.resolve();
        await new Promise((resolve) => setTimeout(resolve, 10));
      });
      const posted = dispatcher.publishBy(own.admin, { type, id: uuidv7() }, { db });
      await stored.promise;
      expect(await answers(posted, changes[kind](own))).toEqual(["post", "webhook"]);
    },
  );
});

describe("an event stored by one of several processes", () => {
  const leasedOf = async (webhookId: string) =>
    (
      await dispatcher.rows<{ leased: boolean }>(
        "SELECT leased FROM webhook_queue WHERE webhook_id = $1 ORDER BY leased DESC",
        [webhookId],
      )
    ).map(({ leased }) => leased);
  const unsent = { start: () => undefined };
  /** As another process stores it: it shares no mutex with this one. */
  const apart = (name: string) => ({
    ...unsent,
    exclusively: <T>(run: () => Promise<T>) => run(),
    db: ownDatabase(name),
  });

  it("is leased while another process claims, and while another one stores events of other organizations", async () => {
    start();
    const [own, other] = [await tenant(), await tenant()];
    const { db } = dispatcher.database;
    await db.tx({ caller: systemCaller("webhook-dispatcher") }, async (tx) => {
      await tx.query(sql`SELECT pg_advisory_xact_lock(${claimLock}::bigint)`);
      const storing = moment();
      const stored = moment();
      const open = async () => {
        storing.resolve();
        await stored.promise;
      };
      const theirs = dispatcher.publishBy(other.admin, { type, id: uuidv7() }, { ...apart("other"), open });
      await storing.promise;
      await dispatcher.publishBy(own.admin, { type, id: uuidv7() }, apart("own"));
      stored.resolve();
      await theirs;
    });
    expect(await leasedOf(own.webhook.id)).toEqual([true]);
    expect(await leasedOf(other.webhook.id)).toEqual([true]);
  });

  it("takes no slot that another process took since the webhook was read, and is sent when one is free", async () => {
    const sender = start();
    const { admin, webhook } = await tenant();
    for (let n = 0; n < 7; n++) await dispatcher.publishBy(admin, { type, id: uuidv7() }, unsent);
    let planned = 0;
    const both = moment();
    const open = async () => {
      planned += 1;
      if (planned === 2) both.resolve();
      await both.promise;
    };
    const ids = [uuidv7(), uuidv7()];
    await Promise.all(
      ids.map((id, n) => dispatcher.publishBy(admin, { type, id }, { ...apart(`process ${n}`), open })),
    );
    expect(await leasedOf(webhook.id)).toEqual([...Array.from({ length: 8 }, () => true), false]);
    await dispatcher.change("UPDATE webhook_queue SET leased = false, attempt = 0, due_at = now() WHERE leased");
    sender.wake();
    await until("all", async () => (await dispatcher.queuedOf(webhook.id)) === 0);
    expect(ids.map((id) => receiver.of(id).length)).toEqual([1, 1]);
  });
});

describe("a process that ends", () => {
  it("leaves a lease between COMMIT and the first byte: the next process marks its request as a possible repeat", async () => {
    const first = dispatcher.sender({ leaseMs: 1_000, graceMs: 0 });
    const { admin, webhook } = await tenant();
    const id = uuidv7();
    await dispatcher.publishBy(admin, { type, id }, { start: () => undefined });
    await first.stop();
    expect(receiver.of(id)).toEqual([]);
    start({ leaseMs: 1_000 });
    await until("the request", () => receiver.of(id).length === 1);
    expect(receiver.of(id)[0]?.headers["x-service-possible-duplicate"]).toBe("true");
    await until("the outcome", async () => (await statusOf(webhook.id)) === "delivered");
  });

  it("leaves a lease between answer and outcome: the next process marks its request as a possible repeat", async () => {
    const first = dispatcher.sender({ egress: createEgressStub(dispatcher.egress), leaseMs: 1_000, graceMs: 0 });
    const { publish } = await tenant();
    const id = await publish();
    await until("the first request", () => receiver.of(id).length === 1);
    await first.stop();
    start({ leaseMs: 1_000 });
    await until("the second request", () => receiver.of(id).length === 2);
    expect(receiver.of(id).map(({ headers }) => headers["x-service-possible-duplicate"])).toEqual([undefined, "true"]);
  });
});

describe("a change of the webhook between COMMIT and the request", () => {
  it.each(["paused", "deleted", "secret", "url"] as const)("%s takes effect immediately", async (change) => {
    const { admin, webhook } = await tenant({ secret: "old" });
    const patch = (wanted: Record<string, unknown>) =>
      dispatcher
        .webhooks(admin)
        .updateWebhook({ id: webhook.id, updateMask: { paths: Object.keys(wanted) }, change: wanted });
    const url = dispatcher.urlOf(dispatcher.receivers[1]);
    const changes = {
      paused: () => patch({ status: "paused" }),
      deleted: () => dispatcher.webhooks(admin).deleteWebhook({ id: webhook.id }),
      secret: () => patch({ secret: "" }),
      url: () => patch({ url, secret: "new" }),
    };
    const own = ownDatabase("late");
    let made: Promise<unknown> | null = null;
    // The process is suspended after COMMIT until another caller's change was answered.
    const stalled = lateDatabase(own, async () => {
      made ??= changes[change]().then(() => new Promise((resolve) => setTimeout(resolve, 150)));
      await made;
    });
    start();
    const id = uuidv7();
    await dispatcher.publishBy(admin, { type, id }, { db: stalled });
    await until("the lease to be given back or used", async () => {
      const rows = await dispatcher.rows<{ leased: boolean }>(
        "SELECT leased FROM webhook_queue WHERE webhook_id = $1",
        [webhook.id],
      );
      return rows.every(({ leased }) => !leased);
    });
    if (change === "paused" || change === "deleted") expect(receiver.of(id)).toEqual([]);
    if (change === "secret") {
      const [request] = await until("the request", () => (receiver.of(id).length > 0 ? receiver.of(id) : null));
      expect(request?.headers["x-service-signature"]).toBeUndefined();
      expect(request?.headers["x-service-possible-duplicate"]).toBeUndefined();
    }
    if (change === "url") {
      await until("the request at the new URL", () => dispatcher.receivers[1].of(id).length === 1);
      expect(receiver.of(id)).toEqual([]);
    }
  });
});

describe("an organization with an ordered webhook", () => {
  it("gets its events in order while both paths are in use", async () => {
    start();
    const { orgId, webhook, publish } = await tenant({ ordered: true });
    const ids = Array.from({ length: 10 }, () => uuidv7());
    for (const id of ids) await publish(id);
    expect(await streamed(orgId)).toBe(10);
    // As the relay publishes them, in the order of the outbox.
    await dispatcher.match(ids.map((id, n) => eventMessage(orgId, { id, seq: n + 1 })));
    await until("all outcomes", async () => {
      const rows = await dispatcher.deliveriesOf(webhook.id);
      return rows.length === 10 && rows.every(({ status }) => status === "delivered");
    });
    const seen = receiver.received
      .map(({ headers }) => headers["x-service-event-id"])
      .filter((id) => ids.includes(String(id)));
    expect(seen).toEqual(ids);
  });
});

describe("one webhook that hangs", () => {
  it("gets eight requests for posted events, further ones wait, and other webhooks of the organization are served", async () => {
    const hanging = dispatcher.receivers[2];
    hanging.answer(() => undefined);
    start();
    const { admin, webhook, publish } = await tenant();
    const bad = await dispatcher.webhook(admin, hanging);
    const ids = await Promise.all(Array.from({ length: 30 }, () => publish()));
    await until("everybody else's", () => ids.every((id) => receiver.of(id).length === 1));
    await until("their outcomes", async () => (await dispatcher.queuedOf(webhook.id)) === 0);
    expect(hanging.busiest()).toBe(8);
    expect(await dispatcher.queuedOf(bad.id)).toBe(30);
  });

  it("causes no claims without a free slot when other webhooks answer, and its next request follows its own answer", async () => {
    const hanging = dispatcher.receivers[2];
    const open: (() => void)[] = [];
    hanging.answer((_request, response) => void open.push(() => response.end("ok")));
    const own = ownDatabase("counted");
    let claims = 0;
    const counted: Database = {
      ...own,
      inOneBatch(who, fn, options) {
        if (!options?.readOnly) claims += 1;
        return own.inOneBatch(who, fn, options);
      },
    };
    start({ on: counted, timeoutMs: 60_000 });
    const bad = await dispatcher.organization();
    await dispatcher.webhook(bad.admin, hanging);
    const publishBad = () => dispatcher.publishBy(bad.admin, { type, id: uuidv7() }, {});
    for (let n = 0; n < 9; n++) await publishBad();
    await until("eight requests", () => open.length === 8);
    const { webhook, publish } = await tenant();
    const [claimsBefore, startedMs] = [claims, performance.now()];
    for (let n = 1; n <= 20; n++) {
      const id = await publish();
      await until("the request", () => receiver.of(id).length === 1);
      // Outcomes that are not stored yet hold slots: with all eight of its own, this webhook would wait for claims,
      // too.
      if (n % 4 === 0) await until("the outcomes", async () => (await dispatcher.queuedOf(webhook.id)) === 0);
    }
    // Polls of a queue with due rows are 250 ms apart.
    expect(claims - claimsBefore).toBeLessThanOrEqual(Math.ceil((performance.now() - startedMs) / 250) + 2);
    open[0]?.();
    await until("the ninth request", () => open.length === 9);
    for (const answer of open) answer();
  }, 30_000);

  it("holds a slot of the process for two seconds, and a partner gets two open requests for each slot", async () => {
    const hanging = dispatcher.receivers[2];
    const open: (() => void)[] = [];
    hanging.answer((_request, response) => void open.push(() => response.end("ok")));
    start({ concurrency: 8, hostConcurrency: 1_000, timeoutMs: 60_000 });
    const bad = await dispatcher.organization();
    const publishBad = () => dispatcher.publishBy(bad.admin, { type, id: uuidv7() }, {});
    const hooks = [await dispatcher.webhook(bad.admin, hanging)];
    for (let n = 0; n < 8; n++) await publishBad();
    await until("a request in each slot", () => open.length === 8);
    const { publish } = await tenant();
    const id = await publish();
    await until("another organization's request", () => receiver.of(id).length === 1);
    expect(open.length).toBe(8);
    for (let n = 0; n < 4; n++) hooks.push(await dispatcher.webhook(bad.admin, hanging));
    for (let n = 0; n < 8; n++) await publishBad();
    await until("half of what may be open", () => open.length === 16);
    hanging.answer((_request, response) => void response.end("ok"));
    for (const answer of open) answer();
    for (const hook of hooks) await until("the others", async () => (await dispatcher.queuedOf(hook.id)) === 0);
    expect(hanging.busiest()).toBe(16);
  }, 60_000);
});
