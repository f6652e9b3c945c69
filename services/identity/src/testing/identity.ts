import { generateKeyPairSync, randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { create, fromBinary } from "@bufbuild/protobuf";
import { sql } from "@muster/db";
import { type Caller, createLogger, permissions, secretBox, systemCaller, uuidv7 } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { TenantChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { AccountService } from "@muster/proto/muster/identity/v1/account_pb";
import { DeviceAuthorizationService } from "@muster/proto/muster/identity/v1/device_authorization_pb";
import { MfaService } from "@muster/proto/muster/identity/v1/mfa_pb";
import { NotificationService } from "@muster/proto/muster/identity/v1/notification_pb";
import { PasskeyService } from "@muster/proto/muster/identity/v1/passkey_pb";
import { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { RoleService } from "@muster/proto/muster/identity/v1/role_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { UserService } from "@muster/proto/muster/identity/v1/user_pb";
import { register, toAppError } from "@muster/rpc";
import { applyTenants, tenantMigrations } from "@muster/service";
import { callers, testDatabase, testPort } from "@muster/testing";
import { accessTokens } from "../crypto/access-tokens.ts";
import { passwords } from "../crypto/passwords.ts";
import { userCodeHashes } from "../crypto/user-code-hashes.ts";
import { mailQueue } from "../emits/mail-queue.ts";
import { accountService } from "../rpc/account.ts";
import { deviceAuthorizationService } from "../rpc/device-authorization.ts";
import { mfaService } from "../rpc/mfa.ts";
import { notificationService } from "../rpc/notification.ts";
import { passkeyService } from "../rpc/passkey.ts";
import { refusalService } from "../rpc/refusal.ts";
import { roleService } from "../rpc/role.ts";
import { sessionService } from "../rpc/session.ts";
import { userService } from "../rpc/user.ts";
import type { LoginLimits } from "../rules/attempt-limit.ts";
import { seededRoles } from "../rules/catalogue.ts";
import { relyingPartyOf } from "../rules/relying-party.ts";
import { seedRoles } from "../store/roles.ts";
import { unknownKeys } from "../store/unknown-keys.ts";

export const identityDirs = [
  tenantMigrations,
  { label: "identity", path: fileURLToPath(new URL("../../migrations/", import.meta.url)) },
];

export const fiveMinutes = (max: number) => ({ max, windowMs: 300_000 });

const system = { caller: systemCaller("identity") };

export type TestIdentity = Awaited<ReturnType<typeof startTestIdentity>>;

/** Identity's RPCs over a database of their own, with a clock that the test moves. */
export async function startTestIdentity(limits: Partial<LoginLimits> = {}) {
  const database = await testDatabase({ service: "identity", dirs: identityDirs });
  const { db } = database;
  const clock = { now: new Date() };
  const now = () => clock.now;
  const log = createLogger("identity-test", "error");
  const loginLimits = { perAccount: fiveMinutes(10), perAddress: fiveMinutes(100), ...limits };
  const hashing = passwords({ logN: 10, queueMax: 200 });
  await seedRoles(db, seededRoles, now());
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const pkcs8 = privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
  const tokens = accessTokens(`k1:${pkcs8}`, 900);
  const sealing = `s1:${randomBytes(32).toString("base64")}`;
  const box = secretBox(sealing, "session");
  const totpBox = secretBox(sealing, "totp");
  const unknownTokens = unknownKeys({ db, limit: { max: 30, windowMs: 60_000 }, now, kind: "token" });
  const sessions = {
    db,
    log,
    unknownTokens,
    passwords: hashing,
    tokens,
    box,
    totpBox,
    idleDays: 7,
    maxDays: 30,
    loginLimits,
    now,
  };
  const mailBox = secretBox(sealing, "mail");
  const publicUrl = "https://muster.example.test";
  const mail = mailQueue({ box: mailBox, publicUrl });
  const factors = { ...sessions, mail, mfaMaxAgeMinutes: 480 };
  const relyingParty = relyingPartyOf({ publicUrl, origins: [] });
  const anHour = (max: number) => ({ max, windowMs: 3_600_000 });
  const forgotLimits = { perAccount: anHour(3), perAddress: anHour(20) };
  const replies = secretBox(sealing, "replies");
  const userDeps = {
    db,
    log,
    unknownTokens,
    mail,
    passwords: hashing,
    now,
    box: replies,
    mfaMaxAgeMinutes: 480,
    learnTenants: async () => false,
    /** Whether replies to invitations have the link; a test may change it. */
    showsInvites: true,
  };
  const notifications = { db, log, now, mail, unsubscribing: secretBox(sealing, "unsubscribe"), unknownTokens };
  const port = await testPort("identity", [
    register(SessionService, sessionService(sessions)),
    register(MfaService, mfaService(factors)),
    register(PasskeyService, passkeyService({ ...factors, relyingParty })),
    register(AccountService, accountService({ ...factors, forgotLimits })),
    register(
      DeviceAuthorizationService,
      deviceAuthorizationService({
        ...sessions,
        system: systemCaller("identity"),
        userCodeHashes: userCodeHashes(sealing),
        deviceLimits: { started: fiveMinutes(100), wrongCodes: fiveMinutes(10) },
      }),
    ),
    register(UserService, userService(userDeps)),
    register(RoleService, roleService(userDeps)),
    register(RefusalService, refusalService(userDeps)),
    register(NotificationService, notificationService(notifications)),
  ]);
  const roles = await db.read<{ id: string; key: string }>(system, sql`SELECT id, key FROM roles`);

  const tenant = (kind: "partner" | "organization" | "site", partnerId: string, orgId = "", id = uuidv7()) =>
    create(TenantChangedSchema, {
      kind,
      id: kind === "partner" ? partnerId : id,
      version: 1n,
      partnerId,
      orgId: kind === "organization" ? id : orgId,
      status: kind === "site" ? "" : "active",
    });

  const auditEvents = async (): Promise<AuditEvent[]> => {
    const rows = await db.read<{ body: Buffer }>(
      system,
      sql`SELECT body FROM outbox WHERE subject LIKE 'audit.identity.%' ORDER BY id`,
    );
    return rows.map((row) => fromBinary(AuditEventSchema, row.body));
  };

  return {
    database,
    db,
    port,
    clock,
    system,
    roleId: (key: string) => roles.find((role) => role.key === key)?.id ?? "",
    /** A caller who exists in the database, with these permissions and a second factor just completed. */
    async user(caller: Caller, held: readonly string[] = permissions): Promise<Caller> {
      const { actor, scope, partnerId, orgId, orgAccess, siteIds } = caller;
      const roleId = uuidv7();
      const access = scope === "organization" ? "none" : orgAccess.mode === "all" ? "all" : "selected";
      await db.tx(system, async (tx) => {
        await tx.execute(sql`
          INSERT INTO roles (id, name, scope, permissions, created_at, updated_at)
          VALUES (${roleId}, 'test', ${scope}, ${[...held]}::text[], now(), now())`);
        await tx.execute(sql`
          INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, org_access, site_restricted, status,
                             created_at, updated_at)
          VALUES (${actor.id}, ${actor.email}, 'Test User', ${scope}, ${partnerId}, ${orgId}, ${roleId}, ${access},
                  ${siteIds !== null}, 'active', now(), now())`);
        if (orgAccess.mode === "list" && scope === "partner") {
          await tx.execute(sql`
            INSERT INTO user_organizations (user_id, org_id, partner_id)
            SELECT ${actor.id}, org_id, ${partnerId} FROM unnest(${[...orgAccess.orgIds]}::uuid[]) AS org_id`);
        }
      });
      return { ...caller, permissions: [...held], mfaAt: clock.now };
    },
    /** Replaces the permissions of a user's role, whatever their token contains. */
    setHeld: (caller: Caller, held: readonly string[]) =>
      db.tx(system, (tx) =>
        tx.execute(sql`UPDATE roles SET permissions = ${[...held]}::text[]
                       WHERE id = (SELECT role_id FROM users WHERE id = ${caller.actor.id})`),
      ),
    /** What the copy of the tenants knows. */
    async addPartner(): Promise<string> {
      const id = uuidv7();
      await db.tx(system, (tx) => applyTenants(tx, [tenant("partner", id)]));
      return id;
    },
    async addOrganization(partnerId: string): Promise<string> {
      const row = tenant("organization", partnerId);
      await db.tx(system, (tx) => applyTenants(tx, [row]));
      return row.id;
    },
    async addSite(partnerId: string, orgId: string): Promise<string> {
      const row = tenant("site", partnerId, orgId);
      await db.tx(system, (tx) => applyTenants(tx, [row]));
      return row.id;
    },
    async setStatus(kind: "partner" | "organization", id: string, status: string, deleted = false): Promise<void> {
      await db.tx(system, (tx) =>
        tx.execute(sql`UPDATE tenant SET status = ${status}, deleted = ${deleted}, version = version + 1
                       WHERE kind = ${kind} AND id = ${id}`),
      );
    },
    anonymous: (address = "192.0.2.7") =>
      port.client(SessionService, callers.service("gateway"), { clientAddress: address }),
    sessionsAs: (caller: Caller) => port.client(SessionService, caller),
    passkeysAs: (caller: Caller) => port.client(PasskeyService, caller),
    accountAs: (caller: Caller, address = "192.0.2.7") =>
      port.client(AccountService, caller, { clientAddress: address }),
    devicesAs: (caller: Caller, address = "192.0.2.7") =>
      port.client(DeviceAuthorizationService, caller, { clientAddress: address }),
    sessionDeps: sessions,
    userDeps,
    notifications,
    /** What jobs/send-mail.ts needs beside a way to deliver. */
    posting: { db, box: mailBox, mail, log, now },
    publicUrl,
    mfaAs: (caller: Caller) => port.client(MfaService, caller),
    usersAs: (caller: Caller, address = "192.0.2.7") => port.client(UserService, caller, { clientAddress: address }),
    rolesAs: (caller: Caller) => port.client(RoleService, caller),
    /** Audit rows about a record, oldest first. */
    auditOf: async (resourceId: string) => (await auditEvents()).filter((event) => event.resourceId === resourceId),
    /** Audit rows of an actor, oldest first. */
    auditBy: async (actorId: string) => (await auditEvents()).filter((event) => event.actorId === actorId),
    async close() {
      await port.close();
      await database.drop();
    },
  };
}

/** Code of the error a call ends with, with its facts; "answered" when it does not. */
export async function outcomeOf(call: Promise<unknown>): Promise<{ code: string; [fact: string]: unknown }> {
  try {
    await call;
    return { code: "answered" };
  } catch (thrown) {
    const { code, facts, retryAfterSeconds } = toAppError(thrown);
    return { code, ...facts, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  }
}
export const codeOf = async (call: Promise<unknown>): Promise<string> => (await outcomeOf(call)).code;
