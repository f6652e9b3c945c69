import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Database, openDatabase, sql } from "@muster/db";
import { AppError, createLogger, type ErrorCode, systemCaller, uuidv7 } from "@muster/kit";
import {
  EdgeService,
  type FoundKey,
  type RefusedKey,
  type ResolveKeysResponse_Outcome,
} from "@muster/proto/muster/identity/v1/edge_pb";
import { register, toAppError } from "@muster/rpc";
import { applyTenants, tenantMigrations } from "@muster/service";
import { asOwner, callers, type TestPort, testDatabase, testPort, until } from "@muster/testing";
import { afterChange, announce } from "../emits/changes.ts";
import { grantMs, slotMs } from "../rules/rate-window.ts";
import { leaseMs } from "../store/gateways.ts";
import { removeIdleWindows } from "../store/rate-windows.ts";
import { unknownKeys } from "../store/unknown-keys.ts";
import { identityDirs } from "../testing/identity.ts";
import { edgeService } from "./edge.ts";

const system = { caller: systemCaller("identity") };
const partnerId = uuidv7();
const orgId = uuidv7();

let database: Awaited<ReturnType<typeof testDatabase>>;
let beside: Database;
let port: TestPort;
let clock = new Date();
const now = () => clock;
const keyLimit = { max: 30, windowMs: 60_000 };

beforeAll(async () => {
  expect(identityDirs[0]).toBe(tenantMigrations);
  database = await testDatabase({ service: "identity", dirs: identityDirs });
  const { db } = database;
  const log = createLogger("identity-test", "error");
  beside = openDatabase({ url: database.appUrl, max: 1, name: "beside", log });
  port = await testPort("identity", [
    register(EdgeService, edgeService({ db, log, unknownKeys: unknownKeys({ db, limit: keyLimit, now }), now })),
  ]);
  const tenant = { version: 1n, partnerId, status: "active", deleted: false, name: "" };
  await db.tx(system, (tx) =>
    applyTenants(tx, [
      { ...tenant, kind: "partner", id: partnerId, orgId: "" },
      { ...tenant, kind: "organization", id: orgId, orgId },
    ] as never),
  );
});
afterAll(async () => {
  await port.close();
  await beside.close();
  await database.drop();
});

const edge = () => port.client(EdgeService, callers.service("gateway"));
const digestOf = (key: string) => createHash("sha256").update(key).digest();
const codeOf = async (call: Promise<unknown>) => {
  try {
    await call;
    return "answered";
  } catch (error) {
    return toAppError(error).code;
  }
};

/** The result for one key; throws its refusal. */
async function resolve(key: string, clientAddress = ""): Promise<FoundKey> {
  const { outcomes } = await edge().resolveKeys({ wanted: [{ digest: digestOf(key), clientAddress }] });
  const [{ outcome }] = outcomes as [ResolveKeysResponse_Outcome];
  if (outcome.case === "found") return outcome.value;
  const { code, message, retryAfterSeconds } = outcome.value as RefusedKey;
  throw new AppError(code as ErrorCode, message, { retryAfterSeconds });
}

type Change = { status?: string; expiresAt?: Date | null; previous?: { key: string; until: Date } };

async function insertKey(key: string, change: Change = {}): Promise<string> {
  const id = uuidv7();
  const { status = "active", expiresAt = null, previous = null } = change;
  await database.db.tx(system, (tx) =>
    tx.execute(sql`
      INSERT INTO api_keys (id, org_id, partner_id, name, key_prefix, digest, previous_digest, previous_valid_until, scopes,
                            rate_limit, status, expires_at, created_by, created_at, updated_at)
      VALUES (${id}, ${orgId}, ${partnerId}, 'k', ${key.slice(0, 12)}, ${digestOf(key)},
              ${previous ? digestOf(previous.key) : null}, ${previous?.until ?? null}, ${["devices:read"]}, 1000, ${status},
              ${expiresAt}, ${uuidv7()}, now(), now())`),
  );
  return id;
}

const usageOf = async (id: string) => {
  const [row] = await database.db.read<{ usage_count: number; last_used_at: Date | null; status: string }>(
    system,
    sql`SELECT usage_count, last_used_at, status FROM api_keys WHERE id = ${id}`,
  );
  return row;
};

const want = (id: string, limit: number, waiting: number, ahead = 0) => ({ kind: "key", id, limit, waiting, ahead });

describe("EdgeService", () => {
  it("refuses every caller except a gateway in its own name", async () => {
    const user = port.client(EdgeService, callers.platformAdmin());
    expect(await codeOf(user.heartbeat({ gatewayId: uuidv7() }))).toBe("permission_denied");
    expect(await codeOf(user.resolveKeys({ wanted: [] }))).toBe("permission_denied");
    const other = port.client(EdgeService, callers.service("audit"));
    expect(await codeOf(other.reserve({ wants: [] }))).not.toBe("answered");
  });
});

describe("ResolveKeys", () => {
  it("finds a key by its digest, with its tenant's status", async () => {
    const id = await insertKey("svc_found");
    const { key, until } = await resolve("svc_found");
    expect(key).toMatchObject({ id, orgId, partnerId, scopes: ["devices:read"], rateLimit: 1000, version: 1n });
    expect(key).toMatchObject({ generation: 1, partnerStatus: "active", orgStatus: "active" });
    expect(until).toBeUndefined();
  });

  it("finds a rotated key for the length of its grace", async () => {
    const until = new Date(Date.now() + 60_000);
    const id = await insertKey("svc_new1", { previous: { key: "svc_old1", until } });
    const reply = await resolve("svc_old1");
    expect([reply.key?.id, reply.until && timestampDate(reply.until)]).toEqual([id, until]);
    await insertKey("svc_new2", { previous: { key: "svc_old2", until: new Date(Date.now() - 1) } });
    expect(await codeOf(resolve("svc_old2"))).toBe("api_key_invalid");
  });

  it("returns why a key is refused, and marks a key past its expiry as expired", async () => {
    await insertKey("svc_revoked", { status: "revoked" });
    const id = await insertKey("svc_expired", { expiresAt: new Date(Date.now() - 1) });
    expect(await codeOf(resolve("svc_unknown"))).toBe("api_key_invalid");
    expect(await codeOf(resolve("svc_revoked"))).toBe("api_key_revoked");
    expect(await codeOf(resolve("svc_expired"))).toBe("api_key_expired");
    expect((await usageOf(id))?.status).toBe("expired");
    expect(await codeOf(resolve("svc_expired"))).toBe("api_key_expired");
  });
});

describe("ResolveKeys of many keys", () => {
  it("returns each result in its place, whatever the others' results are", async () => {
    const secrets = Array.from({ length: 40 }, (_, i) => `svc_many${i}-${uuidv7()}`);
    const ids = await Promise.all(secrets.map((key, i) => insertKey(key, i % 4 === 0 ? { status: "revoked" } : {})));
    const wanted = secrets.flatMap((key) => [
      { digest: digestOf(key), clientAddress: "" },
      { digest: digestOf(`${key}x`), clientAddress: "192.0.2.99" },
    ]);
    const { outcomes } = await edge().resolveKeys({ wanted: wanted.slice(0, 50) });
    const short = await edge().resolveKeys({ wanted: [{ digest: Buffer.alloc(3), clientAddress: "192.0.2.98" }] });
    expect([...outcomes, ...short.outcomes].map(({ outcome }) => outcome.value)).toMatchObject([
      ...ids
        .slice(0, 25)
        .flatMap((id, i) => [i % 4 === 0 ? { code: "api_key_revoked" } : { key: { id } }, { code: "api_key_invalid" }]),
      { code: "api_key_invalid" },
    ]);
  });
});

describe("unknown keys", () => {
  const guess = (address: string) => codeOf(resolve(uuidv7(), address));

  it("are answered exactly as often as the limit allows, however many arrive together from an address", async () => {
    const codes = await Promise.all(Array.from({ length: 100 }, () => guess("192.0.2.10")));
    expect(codes.filter((code) => code === "api_key_invalid")).toHaveLength(keyLimit.max);
    expect(codes.filter((code) => code === "rate_limited")).toHaveLength(100 - keyLimit.max);
    expect(await guess("192.0.2.11")).toBe("api_key_invalid");
  });

  it("do not block a known key", async () => {
    const id = await insertKey("svc_behind_a_guesser");
    await Promise.all(Array.from({ length: keyLimit.max + 1 }, () => guess("192.0.2.12")));
    const { key } = await resolve("svc_behind_a_guesser", "192.0.2.12");
    expect(key?.id).toBe(id);
  });

  it("may be tried again after a minute", async () => {
    await Promise.all(Array.from({ length: keyLimit.max }, () => guess("192.0.2.13")));
    const refused = await resolve("svc_x", "192.0.2.13").catch(toAppError);
    expect(refused).toMatchObject({ code: "rate_limited", retryAfterSeconds: 60 });
    clock = new Date(clock.getTime() + 60_000);
    expect(await guess("192.0.2.13")).toBe("api_key_invalid");
  });
});

describe("Reserve", () => {
  it.each([1, 3, 100, 1_000])("grants exactly %d to 50 concurrent requests", async (limit) => {
    const id = uuidv7();
    const asks = Math.max(50, Math.ceil(limit / 10));
    const replies = await Promise.all(
      Array.from({ length: asks }, () => edge().reserve({ wants: [want(id, limit, 20)] })),
    );
    const granted = replies.reduce((total, { grants }) => total + (grants[0]?.granted ?? 0), 0);
    expect(granted).toBe(limit);
  });

  it("serves batches of common credentials in any order", async () => {
    const ids = Array.from({ length: 20 }, () => uuidv7());
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => {
        const order = i % 2 === 0 ? ids : [...ids].reverse();
        return edge().reserve({ wants: order.map((id) => want(id, 100, 2)) });
      }),
    );
    const { grants } = await edge().reserve({ wants: ids.map((id) => want(id, 100, 0)) });
    expect(grants.map(({ remaining }) => remaining)).toEqual(ids.map(() => 80));
  });

  it("returns when the window opens again", async () => {
    const id = uuidv7();
    await edge().reserve({ wants: [want(id, 1, 1)] });
    const { grants, now } = await edge().reserve({ wants: [want(id, 1, 1)] });
    const [refused] = grants;
    expect(refused).toMatchObject({ granted: 0, remaining: 0, cacheable: true, retryAt: refused?.resetAt });
    const inMs = Number(refused?.resetAt?.seconds) * 1000 - (now ? timestampDate(now).getTime() : 0);
    expect(inMs).toBeGreaterThan(3_598_000);
    expect(inMs).toBeLessThanOrEqual(3_600_000);
  });
});

describe("an hour that is already counted", () => {
  const slotNow = () => Math.floor((Date.now() + grantMs) / slotMs);
  const hourOf = async (id: string) => {
    const [row] = await database.db.read<{ between_slots: number[]; between_used: string; recent: number[] }>(
      system,
      sql`SELECT between_slots, between_used, recent FROM rate_hours WHERE id = ${id}`,
    );
    return row;
  };

  it("counts in full, and its older slots are folded", async () => {
    const id = uuidv7();
    const slot = slotNow();
    const text = (...counts: number[]) => `{${counts.join(",")}}`;
    await database.db.tx(system, (tx) =>
      tx.execute(sql`
        INSERT INTO rate_hours (kind, id, leaving, between_slots, between_used, between_from, recent)
        VALUES ('key', ${id}, ${text(slot - 1_850, 50, slot - 1_790, 1)}::integer[], ${text(slot - 900, 7)}::integer[], 7,
                ${slot - 900}, ${text(slot - 70, 2, slot - 5, 3)}::integer[])`),
    );
    const { grants } = await edge().reserve({ wants: [want(id, 100, 1)] });
    expect(grants[0]).toMatchObject({ granted: 1, remaining: 100 - 1 - 7 - 2 - 3 - 1 });
    const kept = await hourOf(id);
    expect([kept?.between_slots, Number(kept?.between_used)]).toEqual([[slot - 900, 7, slot - 70, 2], 9]);
    expect(kept?.recent.slice(0, 2)).toEqual([slot - 5, 3]);
    const again = await edge().reserve({ wants: [want(id, 100, 1)] });
    expect(again.grants[0]).toMatchObject({ remaining: 85 });
    expect((await hourOf(id))?.between_slots).toEqual([slot - 900, 7, slot - 70, 2]);
  });

  it("in slots of minutes is converted by the migration", async () => {
    const id = uuidv7();
    const minute = Math.floor(Date.now() / 60_000);
    const used = new Array<number>(62).fill(0);
    used[minute % 62] = 5;
    used[(minute - 40) % 62] = 20;
    const file = await readFile(new URL("../../migrations/0060_rate_hours.sql", import.meta.url), "utf8");
    const takeOver = file.slice(file.indexOf("INSERT INTO rate_hours"));
    await database.db.tx(system, (tx) =>
      tx.execute(sql`
        INSERT INTO rate_windows (kind, id, base_minute, used)
        VALUES ('key', ${id}, ${minute}, ${`{${used.join(",")}}`}::integer[])`),
    );
    await asOwner(database, (owner) => owner.query(takeOver));
    const kept = await hourOf(id);
    expect(kept?.between_slots).toEqual([(minute - 40) * 30 + 29, 20, minute * 30 + 29, 5]);
    const { grants } = await edge().reserve({ wants: [want(id, 30, 9)] });
    expect(grants[0]).toMatchObject({ granted: 5, remaining: 0 });
  });
});

describe("very many changes of one tenant", () => {
  it("are carried until a gateway has acknowledged them, and do not make it drop what it knows of others", async () => {
    const gatewayId = uuidv7();
    const ids = Array.from({ length: 1_100 }, () => `auth/${uuidv7()}`);
    await database.db.tx(system, async (tx) => {
      for (const msgId of ids) tx.emit({ subject: "auth.agent", msgId, body: Buffer.from("") });
    });
    const carried = async () => {
      const { tooMany, changes } = await edge().heartbeat({ gatewayId });
      return [tooMany, changes.filter(({ id }) => ids.includes(id)).length];
    };
    expect(await carried()).toEqual([true, 0]);
    await edge().acknowledge({ gatewayId, changeIds: ids.slice(0, 600) });
    expect(await carried()).toEqual([false, 500]);
    await edge().acknowledge({ gatewayId, changeIds: ids.slice(600) });
    expect(await carried()).toEqual([false, 0]);
    await edge().leave({ gatewayId });
    await database.db.tx(system, (tx) => tx.execute(sql`DELETE FROM outbox WHERE msg_id = ANY (${ids}::text[])`));
  });
});

describe("Settle", () => {
  const settle = (gatewayId: string, sequence: number, use: object) =>
    edge().settle({ gatewayId, sequence: BigInt(sequence), uses: [use as never] });

  it("returns unspent grants once, however often the settlement is repeated", async () => {
    const id = uuidv7();
    const gatewayId = uuidv7();
    const { grants } = await edge().reserve({ wants: [want(id, 10, 10)] });
    const use = { kind: "key", id, slot: grants[0]?.slot ?? 0n, unspent: 4, used: 6 };
    for (let i = 0; i < 3; i++) await settle(gatewayId, 1, use);
    const after = await edge().reserve({ wants: [want(id, 10, 10)] });
    expect(after.grants[0]).toMatchObject({ granted: 4, remaining: 0 });
  });

  it("counts use on the key, and none of an older generation", async () => {
    const id = await insertKey("svc_counted");
    const gatewayId = uuidv7();
    const lastUsedAt = { seconds: BigInt(Math.floor(Date.now() / 1000) - 5), nanos: 0 };
    await settle(gatewayId, 1, { kind: "key", id, used: 3, lastUsedAt, generation: 1 });
    await settle(gatewayId, 2, { kind: "key", id, used: 2, lastUsedAt, generation: 1 });
    await settle(gatewayId, 3, { kind: "key", id, used: 50, lastUsedAt, generation: 0 });
    const usage = await usageOf(id);
    expect(usage?.usage_count).toBe(5);
    expect(usage?.last_used_at?.getTime()).toBe(Number(lastUsedAt.seconds) * 1000);
  });

  it("does not wait for a tenant that is being deleted: grants and heartbeats of all others go on, its use follows", async () => {
    const [locked, free] = [await insertKey("svc_locked"), await insertKey("svc_free")];
    const gatewayId = uuidv7();
    await edge().heartbeat({ gatewayId });
    const wants = () => [locked, free].map((id) => want(id, 100, 1));
    const slots = (await edge().reserve({ wants: wants() })).grants.map(({ slot }) => slot);
    const uses = [locked, free].map((id, at) => ({
      ...{ kind: "key", id, slot: slots[at] ?? 0n, unspent: 1, used: 3, generation: 1 },
    }));
    // As the revocation of all keys and agents of a large tenant does.
    await beside.tx(system, async (tx) => {
      await tx.execute(sql`SELECT FROM api_keys WHERE id = ${locked} FOR UPDATE`);
      const settling = codeOf(edge().settle({ gatewayId, sequence: 1n, uses: uses as never }, { timeoutMs: 5_000 }));
      const calls = [
        codeOf(edge().heartbeat({ gatewayId }, { timeoutMs: 3_000 })),
        codeOf(edge().reserve({ wants: wants() }, { timeoutMs: 3_000 })),
      ];
      expect(await Promise.all([settling, ...calls])).toEqual(["answered", "answered", "answered"]);
      expect([(await usageOf(locked))?.usage_count, (await usageOf(free))?.usage_count]).toEqual([0, 3]);
    });
    await until("the use of the other key", async () => (await usageOf(locked))?.usage_count === 3);
    await edge().leave({ gatewayId });
  });
});

describe("idle windows", () => {
  it("are removed once they hold no counted request", async () => {
    const [old, young] = [uuidv7(), uuidv7()];
    await edge().reserve({ wants: [want(old, 5, 1), want(young, 5, 1)] });
    await database.db.tx(system, (tx) =>
      tx.execute(sql`UPDATE rate_hours SET last_minute = last_minute - 200 WHERE id = ${old}`),
    );
    await removeIdleWindows(database.db, 100);
    const left = await database.db.read<{ id: string }>(
      system,
      sql`SELECT id FROM rate_hours WHERE id = ANY(${[old, young]}::uuid[])`,
    );
    expect(left).toEqual([{ id: young }]);
  });
});

describe("a change", () => {
  const change = async () => {
    let id = "";
    await database.db.tx(system, async (tx) => {
      id = announce(tx, { kind: "key", keyId: uuidv7(), digests: [], version: 2, revoked: true });
    });
    return id;
  };
  const waited = async (changeId: string) => {
    const startedMs = performance.now();
    await afterChange({ db: database.db }, [changeId]);
    return performance.now() - startedMs;
  };
  const gateways: string[] = [];
  const join = async () => {
    const gatewayId = uuidv7();
    await edge().heartbeat({ gatewayId });
    gateways.push(gatewayId);
    return gatewayId;
  };

  it("does not wait when no gateway is registered", async () => {
    expect(await waited(await change())).toBeLessThan(500);
  });

  it("waits until each registered gateway has acknowledged it", async () => {
    const [one, two] = [await join(), await join()];
    const changeId = await change();
    const { changes } = await edge().heartbeat({ gatewayId: one });
    const messageId = changes.find(({ id }) => id.endsWith(changeId))?.id ?? "";
    expect(changes.find(({ id }) => id === messageId)?.subject).toBe("auth.key");
    let over = false;
    const waiting = waited(changeId).then((ms) => {
      over = true;
      return ms;
    });
    await edge().acknowledge({ gatewayId: one, changeIds: [messageId] });
    expect(over).toBe(false);
    await edge().acknowledge({ gatewayId: two, changeIds: [messageId] });
    expect(await waiting).toBeLessThan(leaseMs);
  });

  it("waits for a silent gateway until its lease has expired, even if it renews the lease meanwhile, and not for a gateway that left", async () => {
    for (const gatewayId of gateways) await edge().leave({ gatewayId });
    const silent = await join();
    const gone = await join();
    await edge().leave({ gatewayId: gone });
    const waiting = waited(await change());
    await edge().heartbeat({ gatewayId: silent });
    const ms = await waiting;
    expect(ms).toBeGreaterThan(leaseMs - 500);
    expect(ms).toBeLessThan(2_600);
  });
});
