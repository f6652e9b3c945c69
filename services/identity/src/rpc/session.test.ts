import { generateKeyPairSync, randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { createLogger, secretBox, systemCaller, uuidv7 } from "@muster/kit";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { register } from "@muster/rpc";
import { tenantMigrations } from "@muster/service";
import { callers, type TestDatabase, type TestPort, testDatabase, testPort } from "@muster/testing";
import { createLocalJWKSet, jwtVerify } from "jose";
import { accessTokens } from "../crypto/access-tokens.ts";
import { passwords } from "../crypto/passwords.ts";
import { bootstrapAdministrator } from "../jobs/bootstrap.ts";
import { seededRoles } from "../rules/catalogue.ts";
import { seedRoles } from "../store/roles.ts";
import { unknownKeys } from "../store/unknown-keys.ts";
import { fiveMinutes } from "../testing/identity.ts";
import { sessionService } from "./session.ts";

const password = "a long enough password";
const system = { caller: systemCaller("identity") };
const schema = {
  service: "identity" as const,
  dirs: [tenantMigrations, { label: "identity", path: fileURLToPath(new URL("../../migrations/", import.meta.url)) }],
};
let database: TestDatabase;
let port: TestPort;
let clock = new Date();
let email: string;

beforeAll(async () => {
  database = await testDatabase(schema);
  const { db } = database;
  const hashing = passwords({ logN: 10, queueMax: 50 });
  const now = () => clock;
  const log = createLogger("identity-test", "error");
  email = `Admin.${uuidv7()}@example.com`;
  await seedRoles(db, seededRoles, now());
  await bootstrapAdministrator({ db, passwords: hashing, log, now }, { email, password });
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const pkcs8 = privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
  const sessions = sessionService({
    db,
    log,
    unknownTokens: unknownKeys({ db, limit: { max: 30, windowMs: 60_000 }, now, kind: "token" }),
    passwords: hashing,
    tokens: accessTokens(`k1:${pkcs8}`, 900),
    box: secretBox(`s1:${randomBytes(32).toString("base64")}`, "session"),
    totpBox: secretBox(`s1:${randomBytes(32).toString("base64")}`, "totp"),
    idleDays: 7,
    maxDays: 30,
    loginLimits: { perAccount: fiveMinutes(10), perAddress: fiveMinutes(100) },
    now,
  });
  port = await testPort("identity", [register(SessionService, sessions)]);
});

afterAll(async () => {
  await port?.close();
  await database?.drop();
});

const anonymous = () => port.client(SessionService, callers.service("gateway"));
const signIn = async () => {
  const { principal, tokens } = await anonymous().login({ email, password });
  if (!principal || !tokens) throw new Error("no tokens");
  return { principal, tokens };
};
const user = (p: { userId: string; sessionId: string }) =>
  port.client(SessionService, callers.platformAdmin({ actor: { id: p.userId }, sessionId: p.sessionId }));
const idsOf = ({ sessionId, userId }: { sessionId: string; userId: string }) => ({ sessionId, userId });
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: { details?: unknown; code?: unknown; rawMessage?: string; message: string }) =>
      error.rawMessage ?? error.message,
  );
const auditRows = async (sessionId: string) => {
  const rows = await database.db.read<{ body: Buffer }>(
    system,
    sql`SELECT body FROM outbox WHERE subject LIKE 'audit.identity.%' ORDER BY id`,
  );
  return rows.map((r) => fromBinary(AuditEventSchema, r.body)).filter((e) => e.sessionId === sessionId);
};

describe("sign-in", () => {
  it("returns a verifiable access token and the principal, matching the e-mail case-insensitively", async () => {
    const { principal, tokens } = await anonymous().login({ email: email.toUpperCase(), password });
    expect(principal).toMatchObject({ scope: "system", role: "platform-admin", orgAccess: "all", mfaEnabled: false });
    expect(principal?.permissions).toContain("platform:admin");
    const { jwksJson } = await anonymous().getJwks({});
    const { payload, protectedHeader } = await jwtVerify(
      tokens?.accessToken ?? "",
      createLocalJWKSet(JSON.parse(jwksJson)),
      { issuer: "muster", audience: "muster-api", typ: "at+jwt", currentDate: clock },
    );
    expect(protectedHeader).toMatchObject({ alg: "ES256", kid: "k1" });
    expect(payload).toMatchObject({ sub: principal?.userId, sid: principal?.sessionId, ver: 1 });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(900);
    expect(jwksJson).not.toContain('"d"');
  });

  it("writes one user.login row with actor and address, and no secret", async () => {
    const { principal } = await signIn();
    const rows = await auditRows(principal.sessionId);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      action: "user.login",
      actorId: principal.userId,
      actorEmail: email,
      ipAddress: "192.0.2.7",
      result: "success",
    });
  });

  it("refuses a wrong password and an unknown account with the same text", async () => {
    const wrong = await codeOf(anonymous().login({ email, password: "not the password" }));
    const unknown = await codeOf(anonymous().login({ email: "nobody@example.com", password }));
    expect(wrong).toBe("Invalid email or password");
    expect(unknown).toBe(wrong);
  });
});

describe("session families", () => {
  it("resolves an active session of its own user only", async () => {
    const { principal } = await signIn();
    const { principal: again } = await anonymous().resolveSession({
      sessionId: principal.sessionId,
      userId: principal.userId,
    });
    expect(again).toMatchObject({ userId: principal.userId, sessionId: principal.sessionId });
    expect(await codeOf(anonymous().resolveSession({ sessionId: principal.sessionId, userId: uuidv7() }))).toBe(
      "Session has ended",
    );
    expect(await codeOf(anonymous().resolveSession({ sessionId: "x", userId: principal.userId }))).toBe(
      "Session has ended",
    );
  });

  it("returns the same successor to two tabs that refresh together", async () => {
    const { tokens } = await signIn();
    const replies = await Promise.all(
      [1, 2, 3, 4].map(() => anonymous().refresh({ refreshToken: tokens.refreshToken })),
    );
    const successors = new Set(replies.map((r) => r.tokens?.refreshToken));
    expect(successors.size).toBe(1);
    const [next] = successors;
    expect(next).not.toBe(tokens.refreshToken);
    const { tokens: third } = await anonymous().refresh({ refreshToken: next ?? "" });
    expect(third?.refreshToken).not.toBe(next);
  });

  it("revokes the family when an old token is presented after the grace, and audits it once", async () => {
    const { principal, tokens } = await signIn();
    const { tokens: second } = await anonymous().refresh({ refreshToken: tokens.refreshToken });
    clock = new Date(clock.getTime() + 21_000);
    expect(await codeOf(anonymous().refresh({ refreshToken: tokens.refreshToken }))).toBe(
      "Invalid or expired refresh token",
    );
    expect(await codeOf(anonymous().refresh({ refreshToken: tokens.refreshToken }))).toBe(
      "Invalid or expired refresh token",
    );
    expect(await codeOf(anonymous().refresh({ refreshToken: second?.refreshToken ?? "" }))).toBe(
      "Invalid or expired refresh token",
    );
    expect(await codeOf(anonymous().resolveSession(idsOf(principal)))).toBe("Session has ended");
    const actions = (await auditRows(principal.sessionId)).map((r) => `${r.action} ${r.result}`);
    expect(actions).toEqual(["user.login success", "session.revoke denied"]);
  });

  it("expires after seven idle days and after thirty days in all", async () => {
    const { tokens } = await signIn();
    clock = new Date(clock.getTime() + 7 * 86_400_000 + 1);
    expect(await codeOf(anonymous().refresh({ refreshToken: tokens.refreshToken }))).toBe(
      "Invalid or expired refresh token",
    );
    let { refreshToken } = (await signIn()).tokens;
    for (let day = 0; day < 30; day += 5) {
      refreshToken = (await anonymous().refresh({ refreshToken })).tokens?.refreshToken ?? "";
      clock = new Date(clock.getTime() + 5 * 86_400_000 + 1);
    }
    expect(await codeOf(anonymous().refresh({ refreshToken }))).toBe("Invalid or expired refresh token");
  });

  it("logs out the whole family, notifies the gateways, and audits it once", async () => {
    const { principal, tokens } = await signIn();
    await user(principal).logout({});
    await user(principal).logout({});
    expect(await codeOf(anonymous().refresh({ refreshToken: tokens.refreshToken }))).toBe(
      "Invalid or expired refresh token",
    );
    expect(await codeOf(anonymous().resolveSession(idsOf(principal)))).toBe("Session has ended");
    const events = await database.db.read(
      system,
      sql`SELECT 1 FROM outbox WHERE subject = 'auth.session' AND msg_id LIKE ${`%session-${principal.sessionId}`}`,
    );
    expect(events).toHaveLength(1);
    expect((await auditRows(principal.sessionId)).map((r) => r.action)).toEqual(["user.login", "user.logout"]);
  });

  it.each(["", "rt_", "rt_AAAA", "Bearer x"])("refuses %j as a refresh token", async (refreshToken) => {
    expect(await codeOf(anonymous().refresh({ refreshToken }))).toBe("Invalid or expired refresh token");
  });

  it("stores no refresh token and no family secret in clear", async () => {
    const { tokens } = await signIn();
    const rows = await database.db.read<{ family_secret: Buffer }>(system, sql`SELECT family_secret FROM sessions`);
    const proof = Buffer.from(tokens.refreshToken.slice(3), "base64url").subarray(20);
    for (const row of rows) expect(row.family_secret.includes(proof)).toBe(false);
    expect(rows.every((row) => row.family_secret.length > 60)).toBe(true);
  });
});

describe("the first administrator", () => {
  it("is created once, however often the service starts", async () => {
    const log = createLogger("identity-test", "error");
    const hashing = passwords({ logN: 10, queueMax: 50 });
    const now = () => clock;
    await bootstrapAdministrator(
      { db: database.db, passwords: hashing, log, now },
      { email: "b@example.com", password },
    );
    const rows = await database.db.read(system, sql`SELECT email FROM users WHERE scope = 'system'`);
    expect(rows).toEqual([{ email }]);
  });

  it("is not created with a common password: the start fails with the reason", async () => {
    const log = createLogger("identity-test", "error");
    const fresh = await testDatabase(schema);
    await seedRoles(fresh.db, seededRoles, clock);
    const deps = { db: fresh.db, passwords: passwords({ logN: 10, queueMax: 50 }), log, now: () => clock };
    const start = (password: string) => bootstrapAdministrator(deps, { email, password });
    try {
      await expect(start("Muster-2026!")).rejects.toThrow(/BOOTSTRAP_ADMIN_PASSWORD: Too easy to guess/);
      expect(await fresh.db.read(system, sql`SELECT 1 FROM users`)).toEqual([]);
      await start(password);
    } finally {
      await fresh.drop();
    }
  });
});
