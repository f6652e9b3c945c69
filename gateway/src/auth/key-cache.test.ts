import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { AppError, createLogger, scopePermissions, scopesOfAny } from "@muster/kit";
import { type FoundKey, FoundKeySchema, KeyRecordSchema } from "@muster/proto/muster/identity/v1/edge_pb";
import { until } from "@muster/testing";
import type { KeyHolder } from "../route/credential.ts";
import { freshMs, hardMs, negativeMs } from "./fresh-cache.ts";
import { createKeyCache, type KeyCache, keyHolderOf } from "./key-cache.ts";

const digest = Buffer.alloc(32, 1).toString("base64");
const answerWith = (change: object = {}, untilMs?: number): FoundKey =>
  create(FoundKeySchema, {
    key: create(KeyRecordSchema, { id: "k1", orgId: "o1", partnerId: "p1", version: 1n, rateLimit: 10, ...change }),
    ...(untilMs === undefined ? {} : { until: timestampFromMs(untilMs) }),
  });

type Question = { answer(reply: FoundKey): void; refuse(error: unknown): void };

let nowMs: number;
let questions: Question[];
let dropped: string[];
let keys: KeyCache;

beforeEach(() => {
  nowMs = 1_000_000;
  questions = [];
  dropped = [];
  keys = createKeyCache({
    resolve: () => new Promise((answer, refuse) => questions.push({ answer, refuse })),
    lease: { covers: () => true, awake: () => null },
    max: 100,
    log: createLogger("test", "fatal"),
    onDrop: (id) => dropped.push(id),
    nowMs: () => nowMs,
    now: () => nowMs,
  });
});

const settle = () => new Promise((resolve) => setImmediate(resolve));
async function cached(reply = answerWith()): Promise<KeyHolder> {
  const key = keys.get(digest);
  questions.at(-1)?.answer(reply);
  return key;
}

describe("a key in the cache", () => {
  it("is resolved once, used for 10 s, then refreshed in the background, and never used after 30 s", async () => {
    const both = [keys.get(digest), keys.get(digest)];
    questions[0]?.answer(answerWith());
    const [key] = await Promise.all(both);
    nowMs += freshMs - 1;
    expect(keys.get(digest)).toBe(key);
    expect(questions).toHaveLength(1);
    nowMs += 1;
    expect([keys.get(digest), keys.get(digest)]).toEqual([key, key]);
    await until("the refresh", () => questions.length === 2);
    nowMs += hardMs - freshMs - 1;
    expect(keys.get(digest)).toBe(key);
    nowMs += 1;
    expect(keys.get(digest)).toBeInstanceOf(Promise);
  });

  it("is refreshed with others that become due soon after it, in one tick of the event loop", async () => {
    const other = Buffer.alloc(32, 2).toString("base64");
    await cached();
    const resolving = keys.get(other);
    questions[1]?.answer(answerWith({ id: "k2" }));
    await resolving;
    nowMs += freshMs;
    keys.get(digest);
    await settle();
    expect(questions).toHaveLength(2);
    keys.get(other);
    await until("the refreshes", () => questions.length > 2);
    expect(questions).toHaveLength(4);
  });

  it("is not refreshed when it was dropped meanwhile", async () => {
    await cached();
    nowMs += freshMs;
    keys.get(digest);
    keys.dropAll();
    const other = keys.get(Buffer.alloc(32, 2).toString("base64"));
    questions[1]?.answer(answerWith({ id: "k2" }));
    await other;
    nowMs += freshMs;
    keys.get(Buffer.alloc(32, 2).toString("base64"));
    await until("the other one's refresh", () => questions.length > 2);
    expect(questions).toHaveLength(3);
  });

  it("refused by identity is refused for 2 s without another lookup", async () => {
    const resolving = keys.get(digest);
    questions[0]?.refuse(new AppError("api_key_revoked", "API key is revoked"));
    await expect(resolving).rejects.toMatchObject({ code: "api_key_revoked" });
    nowMs += negativeMs - 1;
    expect(() => keys.get(digest)).toThrow("API key is revoked");
    nowMs += 1;
    expect(keys.get(digest)).toBeInstanceOf(Promise);
    questions[1]?.answer(answerWith());
  });

  it("is resolved again from the millisecond in which it expires or its grace ends", async () => {
    await cached(answerWith({ expiresAt: timestampFromMs(nowMs + 1_000) }, nowMs + 500));
    nowMs += 499;
    expect(keys.get(digest)).not.toBeInstanceOf(Promise);
    nowMs += 1;
    expect(keys.get(digest)).toBeInstanceOf(Promise);
  });

  it("is dropped by a change of a later version, and by a change that names its digest", async () => {
    await cached(answerWith({ version: 5n }));
    keys.changed({ keyId: "k1", version: 5n, digests: [] });
    expect(keys.get(digest)).not.toBeInstanceOf(Promise);
    keys.changed({ keyId: "k1", version: 6n, digests: [] });
    expect(dropped).toEqual(["k1"]);
    await cached(answerWith({ version: 6n }));
    keys.changed({ keyId: "other", version: 1n, digests: [digest] });
    expect(keys.get(digest)).toBeInstanceOf(Promise);
    questions.at(-1)?.answer(answerWith());
  });

  it("is resolved again when the answer in flight is older than a change that was seen", async () => {
    const resolving = keys.get(digest);
    keys.changed({ keyId: "k1", version: 2n, digests: [] });
    questions[0]?.answer(answerWith({ version: 1n, rateLimit: 1 }));
    await settle();
    questions[1]?.answer(answerWith({ version: 2n, rateLimit: 2 }));
    expect((await resolving).record.rateLimit).toBe(2);
  });

  it("is used when the answer in flight is as new as the change", async () => {
    const resolving = keys.get(digest);
    keys.changed({ keyId: "k1", version: 2n, digests: [] });
    questions[0]?.answer(answerWith({ version: 2n }));
    expect((await resolving).record.version).toBe(2n);
  });

  it("stays the same object while nothing changes", async () => {
    const key = await cached();
    nowMs += hardMs;
    expect(await cached()).toBe(key);
    nowMs += hardMs;
    expect(await cached(answerWith({ scopes: ["devices:read"] }))).not.toBe(key);
    expect(dropped).toEqual(["k1"]);
  });
});

describe("a key's caller", () => {
  const callerOf = (scopes: string[]) => keyHolderOf(answerWith({ scopes })).caller;

  it("is its organization, and has no session", () => {
    expect(callerOf([])).toMatchObject({
      actor: { type: "api_key", id: "k1", email: null },
      scope: "organization",
      orgId: "o1",
      partnerId: "p1",
      orgAccess: { mode: "list", orgIds: ["o1"] },
      permissions: [],
      mfaAt: null,
      sessionId: null,
      keyId: "k1",
    });
  });

  it("holds the permissions of its scopes, with * those that need no name, none of an unknown one", () => {
    expect(callerOf(["sites:read", "organizations:read"]).permissions).toEqual(["organizations:read"]);
    expect(callerOf(["devices:write"]).permissions).toEqual(["devices:write", "devices:delete"]);
    expect(callerOf(["nonsense", "users:write"]).permissions).toEqual([]);
    const all = callerOf(["*"]).permissions;
    for (const scope of scopesOfAny) expect(all).toContain(scopePermissions[scope]);
    for (const never of ["users:read", "roles:write", "platform:admin", "audit:write", "audit:append"])
      expect(all).not.toContain(never);
    expect(callerOf(["*", "audit:append"]).permissions).toContain("audit:append");
  });
});
