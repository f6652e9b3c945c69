import { randomBytes } from "node:crypto";
import { create, fromBinary } from "@bufbuild/protobuf";
import { sql } from "@muster/db";
import { type Caller, createLogger, permissions, secretBox, systemCaller, uuidv7 } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { type KeyChanged, KeyChangedSchema } from "@muster/proto/muster/events/v1/auth_pb";
import { TenantChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { ApiKeyService } from "@muster/proto/muster/identity/v1/api_key_pb";
import { EnrollmentKeyService } from "@muster/proto/muster/identity/v1/enrollment_key_pb";
import { ServicePrincipalService } from "@muster/proto/muster/identity/v1/service_principal_pb";
import { register } from "@muster/rpc";
import { applyTenants } from "@muster/service";
import { callers, testDatabase, testPort } from "@muster/testing";
import { announceTenant } from "../events/tenants.ts";
import { apiKeyService } from "../rpc/api-key.ts";
import { enrollmentKeyService } from "../rpc/enrollment-key.ts";
import { servicePrincipalService } from "../rpc/service-principal.ts";
import { enrollmentPeppers } from "../rules/enrollment-key.ts";
import { identityDirs } from "./identity.ts";

const system = { caller: systemCaller("identity") };
type TenantKind = "partner" | "organization" | "site";

export type TestKeys = Awaited<ReturnType<typeof startTestKeys>>;

/** Identity's RPCs for keys over a database of their own, with a clock that the test moves. */
export async function startTestKeys() {
  const database = await testDatabase({ service: "identity", dirs: identityDirs });
  const { db } = database;
  const clock = { now: new Date() };
  const box = secretBox(`s1:${randomBytes(32).toString("base64")}`, "idempotency");
  const keys = {
    db,
    log: createLogger("keys-test", "error"),
    now: () => clock.now,
    box,
    mfaMaxAgeMinutes: 480,
    learnTenants: async () => false,
  };
  const [pepper] = enrollmentPeppers({ ENROLLMENT_KEY_PEPPER: "a pepper of the test" });
  const port = await testPort("identity", [
    register(ApiKeyService, apiKeyService(keys)),
    register(
      EnrollmentKeyService,
      enrollmentKeyService({ ...keys, pepper, defaultTtlMinutes: 60, forgetKey: async () => {} }),
    ),
    register(ServicePrincipalService, servicePrincipalService(keys)),
  ]);

  async function tell(kind: TenantKind, id: string, partnerId: string, orgId: string, deleted = false): Promise<void> {
    const status = kind === "site" ? "" : "active";
    const row = create(TenantChangedSchema, {
      kind,
      id,
      version: deleted ? 2n : 1n,
      partnerId,
      orgId,
      status,
      deleted,
    });
    await db.tx(system, async (tx) => {
      for (const change of await applyTenants(tx, [row])) await announceTenant(tx, change);
    });
  }

  async function bodiesOf(subject: string): Promise<Buffer[]> {
    const rows = await db.read<{ body: Buffer }>(
      system,
      sql`SELECT body FROM outbox WHERE subject LIKE ${subject} ORDER BY id`,
    );
    return rows.map((row) => row.body);
  }

  return {
    appUrl: database.appUrl,
    db,
    clock,
    pepper,
    system,
    tell,
    async addPartner(): Promise<string> {
      const id = uuidv7();
      await tell("partner", id, id, "");
      return id;
    },
    async addOrganization(partnerId: string): Promise<string> {
      const id = uuidv7();
      await tell("organization", id, partnerId, id);
      return id;
    },
    async addSite(partnerId: string, orgId: string): Promise<string> {
      const id = uuidv7();
      await tell("site", id, partnerId, orgId);
      return id;
    },
    /** A caller who exists in the database, with these permissions and a second factor just completed. */
    async user(caller: Caller, held: readonly string[] = permissions): Promise<Caller> {
      const { id, email } = caller.actor;
      const roleId = uuidv7();
      await db.tx(system, async (tx) => {
        await tx.execute(sql`
          INSERT INTO roles (id, name, scope, permissions, created_at, updated_at)
          VALUES (${roleId}, 'test', ${caller.scope}, ${[...held]}::text[], now(), now())`);
        await tx.execute(sql`
          INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, org_access, status, created_at, updated_at)
          VALUES (${id}, ${email}, 'Test User', ${caller.scope}, ${caller.partnerId}, ${caller.orgId}, ${roleId}, 'none',
                  'active', now(), now())`);
      });
      return { ...caller, permissions: [...held], mfaAt: clock.now };
    },
    /** Replaces the permissions of a user's role, whatever their token contains. */
    setHeld: (caller: Caller, held: readonly string[]) =>
      db.tx(system, (tx) =>
        tx.execute(sql`UPDATE roles SET permissions = ${[...held]}::text[]
                       WHERE id = (SELECT role_id FROM users WHERE id = ${caller.actor.id})`),
      ),
    apiKeysAs: (caller: Caller) => port.client(ApiKeyService, caller),
    enrollmentKeysAs: (caller: Caller) => port.client(EnrollmentKeyService, caller),
    principalsAs: (caller: Caller) => port.client(ServicePrincipalService, caller),
    /** The three clients, with calls that carry an Idempotency-Key. */
    repeatable: (caller: Caller, idempotencyKey: string) => ({
      apiKeys: port.client(ApiKeyService, caller, { idempotencyKey }),
      enrollmentKeys: port.client(EnrollmentKeyService, caller, { idempotencyKey }),
      principals: port.client(ServicePrincipalService, caller, { idempotencyKey }),
    }),
    /** Audit rows about a record, oldest first. */
    async auditOf(id: string): Promise<AuditEvent[]> {
      const bodies = await bodiesOf("audit.identity.%");
      return bodies.map((body) => fromBinary(AuditEventSchema, body)).filter((event) => event.resourceId === id);
    },
    /** The messages to the gateways about a key, oldest first. */
    async eventsOf(keyId: string): Promise<KeyChanged[]> {
      const bodies = await bodiesOf("auth.key");
      return bodies.map((body) => fromBinary(KeyChangedSchema, body)).filter((event) => event.keyId === keyId);
    },
    /** All messages of a transaction, as text. */
    async outboxText(): Promise<string> {
      return (await bodiesOf("%")).map((body) => body.toString("latin1")).join("\n");
    },
    async close() {
      await port.close();
      await database.drop();
    },
  };
}

/** A new tenant and its administrators. */
export async function tenantOf(keys: TestKeys) {
  const partnerId = await keys.addPartner();
  const orgId = await keys.addOrganization(partnerId);
  return {
    partnerId,
    orgId,
    orgAdmin: await keys.user(callers.orgAdmin(partnerId, orgId)),
    partnerAdmin: await keys.user(callers.partnerAdmin(partnerId)),
  };
}
