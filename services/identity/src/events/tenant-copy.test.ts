import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { sql } from "@muster/db";
import { type CallContext, type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { type TenantChanged, TenantChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { generateCallerKey, register } from "@muster/rpc";
import {
  applyTenants,
  copyHash,
  followTenancy,
  learningFrom,
  reconcileTenants,
  startReconciling,
  type TenancySnapshot,
  type TenantChange,
  tenancySnapshot,
} from "@muster/service";
import {
  callers,
  listening,
  type TestDatabase,
  type TestNats,
  testDatabase,
  testNats,
  testPort,
  until,
} from "@muster/testing";
import { findTenants } from "../store/tenants.ts";
import { identityDirs } from "../testing/identity.ts";
import { announceTenant } from "./tenants.ts";

const log = createLogger("tenant-copy-test", "fatal");
const system = { caller: systemCaller("identity") };

let nats: TestNats;
let tenancyBus: Bus;
let identityBus: Bus;
beforeAll(async () => {
  nats = await testNats();
  const open = (name: "tenancy" | "identity") =>
    openBus({ servers: nats.url, seed: nats.seeds[name], name, replicas: 1, log });
  tenancyBus = await open("tenancy");
  identityBus = await open("identity");
  await tenancyBus.ensureStream("TENANCY");
});
afterAll(async () => {
  await identityBus?.close();
  await tenancyBus?.close();
  await nats?.remove();
});

let database: TestDatabase;
let seen: TenantChange[];
beforeEach(async () => {
  database = await testDatabase({ service: "identity", dirs: identityDirs });
  seen = [];
});
afterEach(() => database?.drop());

const deps = () => ({
  db: database.db,
  service: "identity",
  log,
  onChange: async (tx: Parameters<typeof announceTenant>[0], change: TenantChange) => {
    seen.push(change);
    await announceTenant(tx, change);
  },
});

/** A tenancy that keeps its state in memory and publishes every change. */
function testTenancy() {
  const state = new Map<string, TenantChanged>();
  const events: { subject: string; msgId: string; body: Uint8Array }[] = [];
  const say = (row: TenantChanged, change: "created" | "updated" | "deleted") => {
    const key = `${row.kind}/${row.id}`;
    // Sites are deleted permanently, other records are only marked.
    if (change === "deleted" && row.kind === "site") state.delete(key);
    else state.set(key, row);
    events.push({
      subject: `tenancy.${row.kind}.${change}`,
      msgId: `${row.orgId || row.partnerId}/${row.kind}-${row.id}-${row.version}`,
      body: toBinary(TenantChangedSchema, row),
    });
    return row;
  };
  const change = (row: TenantChanged, to: { status?: string; deleted?: boolean }) =>
    say(create(TenantChangedSchema, { ...row, ...to, version: row.version + 1n }), to.deleted ? "deleted" : "updated");
  const add = (kind: string, partnerId: string, orgId = "") => {
    const id = kind === "partner" ? partnerId : uuidv7();
    const status = kind === "site" ? "" : "active";
    const parents = { partnerId, orgId: kind === "organization" ? id : orgId };
    return say(create(TenantChangedSchema, { kind, id, version: 1n, status, ...parents }), "created");
  };
  const sorted = () => [...state.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  const snapshot: TenancySnapshot = {
    async page(cursor) {
      const rows = sorted();
      const from = Number(cursor || 0);
      const next = from + 3;
      return { tenants: rows.slice(from, next), nextCursor: next < rows.length ? String(next) : "" };
    },
    tenants: async (ids) => sorted().filter(({ id }) => ids.includes(id)),
    async hash() {
      const lines = sorted().map(
        ({ kind, id, version, status, deleted }) => `${kind} ${id} ${version} ${status} ${deleted ? 1 : 0}\n`,
      );
      return { sha256: createHash("sha256").update(lines.join("")).digest("hex") };
    },
  };
  return { state, events, add, change, snapshot, sorted };
}

/** Partners, organizations and sites with a life: statuses, deletions. */
function lively() {
  const tenancy = testTenancy();
  for (let i = 0; i < 3; i++) {
    const partner = tenancy.add("partner", uuidv7());
    const orgs = [1, 2].map(() => tenancy.add("organization", partner.partnerId));
    const sites = orgs.flatMap((org) => [1, 2].map(() => tenancy.add("site", partner.partnerId, org.id)));
    const suspended = tenancy.change(partner, { status: "suspended" });
    tenancy.change(suspended, { status: "active" });
    if (orgs[0]) tenancy.change(orgs[0], { deleted: true });
    if (sites[0]) tenancy.change(sites[0], { deleted: true });
    if (sites[1]) tenancy.change(sites[1], {});
  }
  return tenancy;
}

type Row = { kind: string; id: string; status: string; deleted: boolean; version: number };
/** The copy's rows: of the partners named, else all. */
const copyRows = (partnerIds: string[] | null = null) =>
  database.db.read<Row>(
    system,
    sql`SELECT kind, id, version, status, deleted FROM tenant
        WHERE NOT (kind = 'site' AND deleted)
          AND (${partnerIds}::uuid[] IS NULL OR partner_id = ANY (${partnerIds}::uuid[]))
        ORDER BY kind COLLATE "C", id`,
  );
const rowsOf = (tenancy: ReturnType<typeof testTenancy>) =>
  tenancy
    .sorted()
    .map(({ kind, id, version, status, deleted }) => ({ kind, id, version: Number(version), status, deleted }));
const sameAs = async (tenancy: ReturnType<typeof testTenancy>) =>
  JSON.stringify(await copyRows()) === JSON.stringify(rowsOf(tenancy));
/** As `sameAs`, but for rows of other tenancies: events of the tests before are delivered again to a new durable. */
const holds = async (tenancy: ReturnType<typeof testTenancy>) => {
  const partnerIds = tenancy.sorted().flatMap(({ kind, id }) => (kind === "partner" ? [id] : []));
  return JSON.stringify(await copyRows(partnerIds)) === JSON.stringify(rowsOf(tenancy));
};
const publish = async (events: ReturnType<typeof testTenancy>["events"], round = "") => {
  for (const event of events) await tenancyBus.transport.publish({ ...event, msgId: event.msgId + round });
};

describe("the copy of the tenants", () => {
  it("converges to tenancy's state when events arrive out of order and repeated", async () => {
    const tenancy = lively();
    const consumer = followTenancy(identityBus, deps());
    await publish([...tenancy.events].reverse());
    await publish(tenancy.events, "-again");
    await until("the copy", () => sameAs(tenancy));
    await publish(
      [...tenancy.events].sort(() => Math.random() - 0.5),
      "-shuffled",
    );
    const late = tenancy.add("partner", uuidv7());
    await publish(tenancy.events.slice(-1));
    await until("the last event", async () => (await copyRows()).some((row) => row.id === late.id));
    expect(await sameAs(tenancy)).toBe(true);
    await consumer.stop();
  });

  it("continues after NATS was killed midway", async () => {
    const tenancy = lively();
    const consumer = followTenancy(identityBus, deps());
    const half = Math.floor(tenancy.events.length / 2);
    await publish(tenancy.events.slice(0, half));
    await nats.kill9();
    await nats.start();
    await until("tenancy's connection", async () => (await tenancyBus.check()) === "ok");
    // What the relay does after a reconnect: everything recent again.
    await publish(tenancy.events, "-after");
    // What took the numbers of lost messages before the reconnect is found by the look at the durable, every 30 s.
    await until("the copy", () => holds(tenancy), 90_000);
    await consumer.stop();
  }, 120_000);

  it("is filled from the snapshot, and rebuilt when it was deleted or has diverged", async () => {
    const tenancy = lively();
    expect(await reconcileTenants(deps(), tenancy.snapshot, 0)).toBe("rebuilt");
    expect(await sameAs(tenancy)).toBe(true);
    expect(await reconcileTenants(deps(), tenancy.snapshot, 0)).toBe("same");

    await database.db.tx(system, (tx) => tx.execute(sql`DELETE FROM tenant`));
    expect(await reconcileTenants(deps(), tenancy.snapshot, 0)).toBe("rebuilt");
    expect(await sameAs(tenancy)).toBe(true);

    // Ahead of a restored tenancy, beside it, and without some of it.
    await database.db.tx(system, async (tx) => {
      await tx.execute(sql`UPDATE tenant SET version = 99, status = 'churned' WHERE kind = 'partner'`);
      const foreign = testTenancy();
      const partner = foreign.add("partner", uuidv7());
      await applyTenants(tx, [partner, foreign.add("site", partner.id, uuidv7())]);
      await tx.execute(sql`DELETE FROM tenant WHERE kind = 'organization' AND deleted`);
    });
    seen = [];
    expect(await reconcileTenants(deps(), tenancy.snapshot, 0)).toBe("rebuilt");
    expect(await sameAs(tenancy)).toBe(true);
    const back = seen.filter((change) => change.kind === "partner" && change.before?.status === "churned");
    expect(back.map((change) => change.status)).toEqual(["active", "active", "active"]);
  });

  it("stops while tenancy does not answer", async () => {
    const calls: AbortSignal[] = [];
    const hash = (signal?: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
        if (signal) calls.push(signal);
      });
    const reconciling = startReconciling(deps(), { ...testTenancy().snapshot, hash });
    await until("the call", () => calls.length === 1);
    await reconciling.stop();
    expect(calls.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it("does not restore a deleted site by a late event", async () => {
    const tenancy = testTenancy();
    const partner = tenancy.add("partner", uuidv7());
    const site = tenancy.add("site", partner.id, uuidv7());
    const gone = tenancy.change(site, { deleted: true });
    await database.db.tx(system, (tx) => applyTenants(tx, [gone]));
    await database.db.tx(system, (tx) => applyTenants(tx, [partner, site]));
    expect((await copyRows()).map((row) => row.kind)).toEqual(["partner"]);
    const { sha256 } = await database.db.tx(system, (tx) => copyHash(tx));
    expect(sha256).toBe((await tenancy.snapshot.hash()).sha256);
  });

  it("dead-letters unreadable events and processes the others", async () => {
    const tenancy = testTenancy();
    const consumer = followTenancy(identityBus, deps());
    tenancy.add("partner", uuidv7());
    const id = uuidv7();
    const wrong = (row: Parameters<typeof create<typeof TenantChangedSchema>>[1]) =>
      toBinary(TenantChangedSchema, create(TenantChangedSchema, row));
    await publish([
      { subject: "tenancy.partner.updated", msgId: `${id}/a`, body: Buffer.from([0xff, 0xff]) },
      {
        subject: "tenancy.partner.updated",
        msgId: `${id}/b`,
        body: wrong({ kind: "partner", id: "x", partnerId: id }),
      },
      {
        subject: "tenancy.partner.updated",
        msgId: `${id}/c`,
        body: wrong({ kind: "site", id, partnerId: id, orgId: id }),
      },
      { subject: "tenancy.device.updated", msgId: `${id}/d`, body: Buffer.from([0xff]) },
      ...tenancy.events,
    ]);
    await until("the neighbour", async () => (await copyRows()).some((row) => tenancy.state.has(`partner/${row.id}`)));
    const letters = await database.db.read<{ msg_id: string }>(
      system,
      sql`SELECT msg_id FROM dead_letter WHERE msg_id LIKE ${`${id}/%`} ORDER BY msg_id`,
    );
    expect(letters.map((letter) => letter.msg_id)).toEqual([`${id}/a`, `${id}/b`, `${id}/c`]);
    await consumer.stop();
  });

  it("notifies the gateways of each change of a known status once, in the same transaction", async () => {
    const tenancy = testTenancy();
    const partner = tenancy.add("partner", uuidv7());
    const suspended = tenancy.change(partner, { status: "suspended" });
    const tell = async (rows: TenantChanged[]) =>
      database.db.tx(system, async (tx) => {
        for (const change of await applyTenants(tx, rows)) await announceTenant(tx, change);
      });
    await tell([partner]);
    await tell([suspended]);
    await tell([suspended, partner]);
    await tell([tenancy.change(suspended, { deleted: true })]);
    const events = await database.db.read(system, sql`SELECT 1 FROM outbox WHERE subject = 'auth.tenant'`);
    expect(events).toHaveLength(2);
  });
});

describe("a look-up of tenants that the copy lacks", () => {
  const requested: (readonly string[])[] = [];
  const reader = (tenancy: ReturnType<typeof testTenancy>) => {
    requested.length = 0;
    const tenants = (ids: readonly string[]) => {
      requested.push(ids);
      return tenancy.snapshot.tenants(ids);
    };
    return { db: database.db, learnTenants: learningFrom({ tenants }, deps()) };
  };
  const noSites = { siteIds: [] };
  const as = (caller: Caller): CallContext => ({
    caller,
    meta: { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null },
    deadlineMs: null,
    signal: new AbortController().signal,
  });

  it("finds a tenant that tenancy has just created, and announces it once", async () => {
    const tenancy = testTenancy();
    const partner = tenancy.add("partner", uuidv7());
    const org = tenancy.add("organization", partner.id);
    const site = tenancy.add("site", partner.id, org.id);
    const wanted = { partnerId: partner.id, orgIds: [org.id], siteIds: [site.id] };
    const cached = await findTenants(reader(tenancy), as(systemCaller("identity")), wanted);
    expect(cached.partner).toBe(true);
    expect(cached.orgs.get(org.id)).toEqual({ partnerId: partner.id });
    expect(cached.sites.get(site.id)).toEqual({ partnerId: partner.id, orgId: org.id });
    expect(requested).toEqual([[partner.id, org.id, site.id]]);
    expect(await sameAs(tenancy)).toBe(true);
    await database.db.tx(system, async (tx) => expect(await applyTenants(tx, [partner, org, site])).toEqual([]));
    expect(seen.map(({ id }) => id).sort()).toEqual([partner.id, org.id, site.id].sort());
  });

  it("also loads the parents of a tenant", async () => {
    const tenancy = testTenancy();
    const partner = tenancy.add("partner", uuidv7());
    const org = tenancy.add("organization", partner.id);
    const site = tenancy.add("site", partner.id, org.id);
    const wanted = { partnerId: null, orgIds: [], siteIds: [site.id] };
    await findTenants(reader(tenancy), as(systemCaller("identity")), wanted);
    expect(requested.map((ids) => [...ids].sort())).toEqual([[site.id], [partner.id, org.id].sort()]);
    expect(await sameAs(tenancy)).toBe(true);
  });

  it("calls tenancy once for an unknown id and never for a known one", async () => {
    const tenancy = testTenancy();
    const partner = tenancy.add("partner", uuidv7());
    await database.db.tx(system, (tx) => applyTenants(tx, [partner]));
    const unknown = uuidv7();
    const wanted = { partnerId: partner.id, orgIds: [unknown], ...noSites };
    expect((await findTenants(reader(tenancy), as(systemCaller("identity")), wanted)).orgs.size).toBe(0);
    expect(requested).toEqual([[unknown]]);
    const copy = reader(tenancy);
    await findTenants(copy, as(systemCaller("identity")), { partnerId: partner.id, orgIds: [], ...noSites });
    expect(requested).toEqual([]);
  });

  it("does not show what is deleted or another partner's", async () => {
    const tenancy = testTenancy();
    const [mine, theirs] = [tenancy.add("partner", uuidv7()), tenancy.add("partner", uuidv7())];
    const gone = tenancy.change(tenancy.add("organization", mine.id), { deleted: true });
    const foreign = tenancy.add("organization", theirs.id);
    const who = as(callers.partnerAdmin(mine.id));
    const wanted = { partnerId: null, orgIds: [gone.id, foreign.id], ...noSites };
    expect((await findTenants(reader(tenancy), who, wanted)).orgs.size).toBe(0);
  });
});

describe("the part of the copy that a tenant's users see", () => {
  it("is their own part only", async () => {
    const tenancy = testTenancy();
    const partner = tenancy.add("partner", uuidv7());
    const [a, b] = [tenancy.add("organization", partner.id), tenancy.add("organization", partner.id)];
    const other = tenancy.add("partner", uuidv7());
    await database.db.tx(system, (tx) => applyTenants(tx, [partner, a, b, other]));
    const seenBy = async (caller: Parameters<typeof database.db.read>[0]["caller"]) =>
      (await database.db.read<{ id: string }>({ caller }, sql`SELECT id FROM tenant`)).map((row) => row.id).sort();
    expect(await seenBy(null)).toEqual([]);
    expect(await seenBy(callers.partnerAdmin(partner.id))).toEqual([partner.id, a.id, b.id].sort());
    expect(await seenBy(callers.orgAdmin(partner.id, a.id))).toEqual([partner.id, a.id].sort());
    const write = database.db.tx({ caller: callers.partnerAdmin(partner.id) }, (tx) =>
      tx.execute(sql`UPDATE tenant SET status = 'active'`),
    );
    expect(await write).toBe(0);
  });
});

describe("the snapshot client", () => {
  it("is refused by a tenancy that does not know its key", async () => {
    const port = await testPort("tenancy", [
      register(SnapshotService, {
        getSnapshot: () => ({ tenants: [], nextCursor: "" }),
        countAudiences: () => ({ groups: [], unknownIds: [] }),
        getTenants: () => ({ tenants: [] }),
        getDevices: () => ({ devices: [] }),
        getSnapshotHash: () => ({ sha256: "", count: 0n }),
      }),
    ]);
    const { privateKey } = generateCallerKey();
    const snapshot = tenancySnapshot({ service: "identity", baseUrls: [port.baseUrl], privateKeys: privateKey });
    await expect(snapshot.hash()).rejects.toMatchObject({ code: Code.Unauthenticated });
    await snapshot.close();
    await port.close();
  });

  it("reports an unreachable tenancy as unavailable, not as a missing tenant", async () => {
    const { privateKey } = generateCallerKey();
    const { port, close } = await listening(createServer());
    await close();
    const baseUrls = [`http://127.0.0.1:${port}`];
    const snapshot = tenancySnapshot({ service: "identity", baseUrls, privateKeys: privateKey });
    await expect(learningFrom(snapshot, deps())([uuidv7()])).rejects.toMatchObject({ code: "unavailable" });
    await snapshot.close();
  });
});
