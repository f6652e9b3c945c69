import { create } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { AppError, createLogger, sessionEnded } from "@muster/kit";
import { type Principal, PrincipalSchema } from "@muster/proto/muster/identity/v1/session_pb";
import type { Session } from "../route/credential.ts";
import type { AccessToken } from "./access-token.ts";
import { freshMs, hardMs, unleasedMs } from "./fresh-cache.ts";
import { createSessionCache, type SessionCache } from "./session-cache.ts";

const token: AccessToken = { userId: "u1", sessionId: "s1", userVersion: 1, expiresAtMs: Number.POSITIVE_INFINITY };
const userOf = (change: Partial<Principal> = {}) =>
  create(PrincipalSchema, { userId: "u1", sessionId: "s1", userVersion: 1, scope: "system", ...change } as never);

type Question = { answer(principal: Principal): void; refuse(error: unknown): void };

let nowMs: number;
let questions: Question[];
let dropped: string[];
let sessions: SessionCache;
/** Since when a lease covers answers; null without one. */
let leasedSinceMs: number | null;

beforeEach(() => {
  nowMs = 1_000_000;
  questions = [];
  dropped = [];
  leasedSinceMs = 0;
  sessions = createSessionCache({
    resolve: () => new Promise((answer, refuse) => questions.push({ answer, refuse })),
    lease: {
      covers: (requestedAtMs) => leasedSinceMs !== null && requestedAtMs >= leasedSinceMs,
      awake: () => null,
    },
    max: 100,
    log: createLogger("test", "fatal"),
    onDrop: (sessionId) => dropped.push(sessionId),
    nowMs: () => nowMs,
  });
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

async function cached(principal = userOf()): Promise<Session> {
  const session = sessions.get(token);
  questions.at(-1)?.answer(principal);
  return session;
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as AppError).code;
  }
  return "none";
}

describe("a session that left the cache", () => {
  it.each<[string, (cache: SessionCache) => void]>([
    ["revoked", (cache) => cache.revoked("s1")],
    ["forgotten", (cache) => cache.forget(() => true)],
    ["dropped with all others", (cache) => cache.dropAll()],
  ])("because it was %s is reported when a look-up no longer finds it", async (_how, drop) => {
    const found: string[] = [];
    sessions = createSessionCache({
      resolve: async () => userOf(),
      lease: { covers: () => true, awake: () => null },
      max: 100,
      log: createLogger("test", "fatal"),
      onDrop() {
        try {
          found.push(sessions.get(token) instanceof Promise ? "nothing" : "the session");
        } catch (error) {
          found.push((error as AppError).code);
        }
      },
    });
    await sessions.get(token);
    drop(sessions);
    await settle();
    expect(found).toHaveLength(1);
    expect(found).not.toContain("the session");
  });
});

describe("a session in the cache", () => {
  it("is resolved once, however many requests wait for it", async () => {
    const all = [sessions.get(token), sessions.get(token), sessions.get(token)];
    questions[0]?.answer(userOf());
    const [first, ...others] = await Promise.all(all);
    for (const other of others) expect(other).toBe(first);
    expect(questions).toHaveLength(1);
  });

  it("is used without a call while it is fresh", async () => {
    const session = await cached();
    nowMs += freshMs - 1;
    expect(sessions.get(token)).toBe(session);
    expect(questions).toHaveLength(1);
  });

  it("is used and refreshed once in the background when it is stale", async () => {
    const session = await cached();
    nowMs += freshMs;
    expect(sessions.get(token)).toBe(session);
    expect(sessions.get(token)).toBe(session);
    expect(questions).toHaveLength(2);
    questions[1]?.answer(userOf());
    await settle();
    nowMs += freshMs - 1;
    expect(sessions.get(token)).toBe(session);
    expect(questions).toHaveLength(2);
  });

  it("is never used beyond its hard lifetime, counted from when the lookup was sent", async () => {
    const resolving = sessions.get(token);
    nowMs += 1_500;
    questions[0]?.answer(userOf());
    const session = await resolving;
    nowMs += hardMs - 1_500 - 1;
    expect(sessions.get(token)).toBe(session);
    nowMs += 1;
    expect(sessions.get(token)).toBeInstanceOf(Promise);
  });

  it("stays the same object while nothing changes, and is a new one after a change", async () => {
    const session = await cached();
    nowMs += hardMs;
    expect(await cached()).toBe(session);
    nowMs += hardMs;
    const changed = await cached(userOf({ permissions: ["audit:read"] }));
    expect(changed).not.toBe(session);
    expect(changed.caller.permissions).toEqual(["audit:read"]);
    expect(dropped).toEqual(["s1"]);
  });

  it("is resolved again when the token is newer than the cached user", async () => {
    await cached();
    const newer = sessions.get({ ...token, userVersion: 2 });
    expect(newer).toBeInstanceOf(Promise);
    questions.at(-1)?.answer(userOf({ userVersion: 2 }));
    expect((await newer).principal.userVersion).toBe(2);
  });

  it("is used while identity is unavailable, until its hard lifetime ends", async () => {
    const session = await cached();
    nowMs += freshMs;
    expect(sessions.get(token)).toBe(session);
    questions[1]?.refuse(new AppError("unavailable", "away"));
    await settle();
    expect(sessions.get(token)).toBe(session);
    nowMs += hardMs;
    const resolving = sessions.get(token);
    questions.at(-1)?.refuse(new AppError("unavailable", "away"));
    await expect(resolving).rejects.toMatchObject({ code: "unavailable" });
  });

  it("belongs to its user alone", async () => {
    await cached();
    const other = sessions.get({ ...token, userId: "u2" });
    questions.at(-1)?.answer(userOf());
    await expect(other).rejects.toMatchObject({ code: "session_revoked" });
  });
});

describe("without a lease", () => {
  it("a session is resolved once a second, whatever is cached", async () => {
    await cached();
    leasedSinceMs = null;
    nowMs += unleasedMs - 1;
    expect(sessions.get(token)).not.toBeInstanceOf(Promise);
    nowMs += 1;
    const resolving = sessions.get(token);
    expect(resolving).toBeInstanceOf(Promise);
    expect(sessions.get(token)).toBeInstanceOf(Promise);
    expect(questions).toHaveLength(2);
    questions[1]?.answer(userOf());
    await resolving;
    nowMs += unleasedMs - 1;
    expect(sessions.get(token)).not.toBeInstanceOf(Promise);
    expect(questions).toHaveLength(2);
  });

  it("a session is not admitted on an answer that took a second: the lookup is repeated, three times in all", async () => {
    leasedSinceMs = null;
    const answerAfter = async (ms: number) => {
      nowMs += ms;
      questions.at(-1)?.answer(userOf());
      await settle();
    };
    const second = sessions.get(token);
    await answerAfter(unleasedMs);
    await answerAfter(unleasedMs - 1);
    expect((await second).principal.userId).toBe("u1");
    expect(questions).toHaveLength(2);

    nowMs += unleasedMs;
    const never = Promise.resolve(sessions.get(token));
    const refused = expect(never).rejects.toMatchObject({ code: "unavailable" });
    for (let i = 0; i < 3; i++) await answerAfter(unleasedMs);
    await refused;
    expect(questions).toHaveLength(5);
  });

  it("a session resolved before a new lease is resolved again", async () => {
    await cached();
    nowMs += 5_000;
    leasedSinceMs = nowMs - 1;
    expect(sessions.get(token)).toBeInstanceOf(Promise);
  });
});

describe("a changed user", () => {
  it("is resolved again when the answer in flight may predate the change", async () => {
    const resolving = sessions.get(token);
    sessions.forget(({ principal }) => principal.userId === "u1");
    questions[0]?.answer(userOf());
    await settle();
    expect(questions).toHaveLength(2);
    questions[1]?.answer(userOf({ userVersion: 2 }));
    expect((await resolving).principal.userVersion).toBe(2);
  });

  it("does not affect the answers about other users", async () => {
    const resolving = sessions.get(token);
    sessions.forget(({ principal }) => principal.userId === "u2");
    questions[0]?.answer(userOf());
    await resolving;
    expect(questions).toHaveLength(1);
  });
});

describe("a revoked session", () => {
  it("is refused immediately", async () => {
    await cached();
    sessions.revoked("s1");
    expect(codeOf(() => sessions.get(token))).toBe("session_revoked");
    expect(dropped).toEqual(["s1"]);
  });

  it("is refused even when an older answer arrives after the revocation", async () => {
    const resolving = sessions.get(token);
    sessions.revoked("s1");
    questions[0]?.answer(userOf());
    await expect(resolving).rejects.toMatchObject({ code: "session_revoked" });
    expect(codeOf(() => sessions.get(token))).toBe("session_revoked");
  });

  it("stays refused for the lifetime of its access tokens", async () => {
    sessions.revoked("s1");
    nowMs += 60 * 60_000;
    expect(codeOf(() => sessions.get(token))).toBe("session_revoked");
  });

  it("reported by identity is not resolved again for 2 s", async () => {
    const resolving = sessions.get(token);
    questions[0]?.refuse(sessionEnded());
    await expect(resolving).rejects.toMatchObject({ code: "session_revoked" });
    nowMs += 1_999;
    expect(codeOf(() => sessions.get(token))).toBe("session_revoked");
    expect(questions).toHaveLength(1);
    nowMs += 1;
    void Promise.resolve(sessions.get(token)).catch(() => undefined);
    expect(questions).toHaveLength(2);
  });

  it("found by a background refresh is refused from then on", async () => {
    await cached();
    nowMs += freshMs;
    sessions.get(token);
    questions[1]?.refuse(sessionEnded());
    await settle();
    expect(codeOf(() => sessions.get(token))).toBe("session_revoked");
  });
});

describe("a gap in the AUTH stream", () => {
  it("invalidates every session, and keeps no earlier answer", async () => {
    await cached();
    nowMs += freshMs;
    sessions.get(token);
    sessions.dropAll();
    const after = sessions.get(token);
    expect(questions).toHaveLength(2);
    questions[1]?.answer(userOf({ permissions: ["before"] }));
    await settle();
    expect(sessions.size).toBe(0);
    questions[2]?.answer(userOf({ permissions: ["after"] }));
    expect((await after).caller.permissions).toEqual(["after"]);
    expect(sessions.size).toBe(1);
  });
});

describe("the cache", () => {
  it("holds no more than its bound", async () => {
    for (let i = 0; i < 250; i++) {
      const session = sessions.get({ ...token, sessionId: `s${i}` });
      questions.at(-1)?.answer(userOf({ sessionId: `s${i}` }));
      await session;
    }
    expect(sessions.size).toBe(100);
  });
});

describe("a session that left the cache", () => {
  it("is resolved again, and its signed tokens are dropped", async () => {
    const session = await cached();
    sessions.forget(({ id }) => id === "other");
    expect(sessions.get(token)).toBe(session);
    sessions.forget(({ principal }) => principal.userId === "u1");
    expect(dropped).toEqual(["s1"]);
    const again = sessions.get(token);
    expect(questions).toHaveLength(2);
    questions[1]?.answer(userOf({ name: "Changed" }));
    expect((await again).principal.name).toBe("Changed");
  });

  it("is not restored by an answer that was in flight", async () => {
    const early = sessions.get(token);
    sessions.forget(() => true);
    questions[0]?.answer(userOf({ name: "Before" }));
    await settle();
    const late = sessions.get(token);
    questions[1]?.answer(userOf({ name: "After" }));
    expect((await early).principal.name).toBe("After");
    expect((await late).principal.name).toBe("After");
  });
});
