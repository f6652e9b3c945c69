import { AsyncLocalStorage } from "node:async_hooks";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Database, sql, type Tx } from "@muster/db";
import { uuidv7 } from "@muster/kit";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { register } from "@muster/rpc";
import { callers, type TestPort, testPort } from "@muster/testing";
import { outcomeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { activeUser, password } from "../testing/users.ts";
import { sessionService } from "./session.ts";

// `npm run bench -- login-timing` measures the times themselves. These tests check that each refusal does the same
// work.

type Work = { derivations: number; statements: string[] };

let identity: TestIdentity;
let port: TestPort;
/** Of the sign-in in flight; what one does after its answer is not counted to the next. */
const currentWork = new AsyncLocalStorage<Work>();
const work = () => currentWork.getStore() ?? { derivations: 0, statements: [] };
let answered: Work;
beforeAll(async () => {
  identity = await startTestIdentity({ perAddress: { max: 1_000, windowMs: 300_000 } });
  const deps = identity.sessionDeps;
  const passwords: typeof deps.passwords = {
    ...deps.passwords,
    hash: (secret, waiting) => {
      work().derivations++;
      return deps.passwords.hash(secret, waiting);
    },
    verify(secret, stored, waiting) {
      const counted = async () => {
        const hash = typeof stored === "function" ? await stored() : stored;
        work().derivations++;
        return hash;
      };
      return deps.passwords.verify(secret, counted, waiting);
    },
  };
  const service = sessionService({ ...deps, passwords, db: recorded(deps.db) });
  const watched: typeof service = {
    ...service,
    async login(request, context) {
      return currentWork.run({ derivations: 0, statements: [] }, async () => {
        try {
          return await service.login(request, context);
        } finally {
          answered = structuredClone(work());
        }
      });
    },
  };
  port = await testPort("identity", [register(SessionService, watched)]);
});
afterAll(async () => {
  await port?.close();
  await identity?.close();
});

/** The database, noting the text of each statement. */
function recorded(db: Database): Database {
  const note = (statement: { text?: string; toSQL?: unknown }) => void work().statements.push(String(statement.text));
  return {
    ...db,
    read: (who, statement) => {
      note(statement as { text: string });
      return db.read(who, statement);
    },
    tx: (who, fn, options) =>
      db.tx(
        who,
        (tx) => {
          const watched: Tx = {
            query: (statement) => {
              note(statement as { text: string });
              return tx.query(statement);
            },
            execute: (statement) => {
              note(statement as { text: string });
              return tx.execute(statement);
            },
            emit: (message) => {
              work().statements.push(`emit ${message.subject}`);
              tx.emit(message);
            },
          };
          return fn(watched);
        },
        options,
      ),
  };
}

const setStatus = (userId: string, status: string) =>
  identity.db.tx(identity.system, (tx) => tx.execute(sql`UPDATE users SET status = ${status} WHERE id = ${userId}`));

/** The right passwords of users in an ended organization or partner. */
async function usersOfEndedTenants(): Promise<Record<string, { email: string; password: string }>> {
  const found: Record<string, { email: string; password: string }> = {};
  for (const kind of ["partner", "organization"] as const) {
    for (const [status, isDeleted] of [
      ["churned", false],
      ["active", true],
    ] as const) {
      const who = await activeUser(identity);
      await identity.setStatus(kind, kind === "partner" ? who.partnerId : who.orgId, status, isDeleted);
      found[`a user whose ${kind} is ${isDeleted ? "deleted" : status}`] = { email: who.email, password };
    }
  }
  return found;
}

/** One account of each kind, and a password to try. */
async function accounts(): Promise<Record<string, { email: string; password: string }>> {
  const [active, disabled, shut] = [await activeUser(identity), await activeUser(identity), await activeUser(identity)];
  await setStatus(disabled.userId, "disabled");
  await setStatus(shut.userId, "disabled");
  const invited = `${uuidv7()}@example.com`;
  const root = identity.usersAs(await identity.user(callers.platformAdmin()));
  await root.inviteUser({ email: invited, name: "I", roleId: identity.roleId("org-viewer"), orgId: active.orgId });
  return {
    "an unknown account": { email: `${uuidv7()}@example.com`, password },
    "a wrong password": { email: active.email, password: "not the password" },
    "a disabled account and its right password": { email: disabled.email, password },
    "a disabled account and a wrong password": { email: shut.email, password: "not the password" },
    "an invitation that was not accepted": { email: invited, password },
    ...(await usersOfEndedTenants()),
  };
}

const tryOf = (credentials: { email: string; password: string }, clientAddress: string) =>
  outcomeOf(port.client(SessionService, callers.service("gateway"), { clientAddress }).login(credentials));

describe("a sign-in at a tenant that is not in service", () => {
  it.each([
    ["partner", "suspended"],
    ["partner", "pending"],
    ["organization", "suspended"],
    ["organization", "trial"],
  ] as const)("%s %s is let in: each request says why it is refused", async (kind, status) => {
    const who = await activeUser(identity);
    await identity.setStatus(kind, kind === "partner" ? who.partnerId : who.orgId, status);
    expect(await tryOf({ email: who.email, password }, "192.0.2.52")).toEqual({ code: "answered" });
  });
});

describe("a refused sign-in", () => {
  it("has the same text, after one derivation and the same statements, whatever the reason", async () => {
    const seen: Record<string, unknown> = {};
    for (const [name, credentials] of Object.entries(await accounts())) {
      const outcome = await tryOf(credentials, "192.0.2.50");
      seen[name] = { outcome, ...answered };
    }
    const [first, ...others] = Object.values(seen);
    expect(first).toMatchObject({ outcome: { code: "invalid_credentials" }, derivations: 1 });
    expect((first as Work).statements.length).toBeGreaterThan(4);
    for (const other of others) expect(other).toEqual(first);
  });

  it("has the same text, without a derivation, after ten failures from the address: also for an unknown account", async () => {
    const seen: unknown[] = [];
    for (const credentials of Object.values(await accounts())) {
      for (let i = 0; i < 10; i++) await tryOf({ ...credentials, password: "not the password" }, "192.0.2.51");
      seen.push({ outcome: await tryOf(credentials, "192.0.2.51"), ...answered });
    }
    expect(seen[0]).toMatchObject({ outcome: { code: "rate_limited", retryAfterSeconds: 300 }, derivations: 0 });
    for (const other of seen) expect(other).toEqual(seen[0]);
  });
});
