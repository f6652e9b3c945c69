import { fromBinary } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { RetentionService } from "@muster/proto/muster/audit/v1/retention_pb";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { register, toAppError } from "@muster/rpc";
import { callers, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { retentionService } from "./retention.ts";

let database: TestDatabase;
let port: TestPort;
const system = { caller: systemCaller("audit") };
beforeAll(async () => {
  database = await auditDatabase();
  const deps = { ...readerOf(database), mfaMaxAgeMinutes: 480, now: () => new Date() };
  port = await testPort("audit", [register(RetentionService, retentionService(deps))]);
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
});

async function organization() {
  const [partnerId, orgId] = [uuidv7(), uuidv7()];
  const log = createLogger("test", "fatal");
  const sealer = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 };
  await sealMessages(sealer, [auditMessage({ partnerId, orgId })]);
  const withMfa = (caller: Caller): Caller => ({
    ...caller,
    mfaAt: new Date(),
    permissions: ["audit:read", "audit:write"],
  });
  return {
    partnerId,
    orgId,
    admin: withMfa(callers.orgAdmin(partnerId, orgId)),
    partner: withMfa(callers.partnerAdmin(partnerId)),
  };
}
const client = (caller: Caller) => port.client(RetentionService, caller);
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => toAppError(error).code,
  );
const updates = async (orgId: string) =>
  (await database.db.read<{ body: Buffer }>(system, sql`SELECT body FROM outbox ORDER BY id`))
    .map(({ body }) => fromBinary(AuditEventSchema, body))
    .filter((event) => event.orgId === orgId && event.action === "audit.retention.update");

describe("the retention of an organization", () => {
  it("is 365 days without archive by default", async () => {
    const { orgId, admin, partner } = await organization();
    const expected = { orgId, retentionDays: 365, archiveToS3: false };
    expect((await client(admin).getRetention({})).policy).toMatchObject(expected);
    const { policy } = await client(partner).getRetention({ orgId });
    expect(policy).toMatchObject(expected);
    expect([policy?.lastCleanupAt, policy?.pendingRetentionDays, policy?.pendingFrom]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("takes effect at once when it is longer, and after 24 hours by the database's clock when it is shorter", async () => {
    const { admin } = await organization();
    const { policy: longer } = await client(admin).updateRetention({ retentionDays: 400, archiveToS3: true });
    expect(longer).toMatchObject({ retentionDays: 400, archiveToS3: true });
    const { policy } = await client(admin).updateRetention({ retentionDays: 30 });
    expect(policy).toMatchObject({ retentionDays: 400, pendingRetentionDays: 30, archiveToS3: true });
    const waits = timestampDate(policy?.pendingFrom ?? ({} as never)).getTime() - Date.now();
    expect(Math.abs(waits - 86_400_000)).toBeLessThan(60_000);
    expect((await client(admin).getRetention({})).policy).toEqual(policy);
    await database.db.tx({ caller: admin }, (tx) =>
      tx.execute(
        sql`UPDATE retention_policy SET pending_from = now() - interval '1 second' WHERE org_id = ${admin.orgId}`,
      ),
    );
    const { policy: inForce } = await client(admin).getRetention({});
    expect([inForce?.retentionDays, inForce?.pendingRetentionDays]).toEqual([30, undefined]);
  });

  it("leaves an audit row of each change, with the old and the new values", async () => {
    const { orgId, admin } = await organization();
    await client(admin).updateRetention({ retentionDays: 500 });
    await client(admin).updateRetention({ retentionDays: 100 });
    const changes = (await updates(orgId)).map(({ detailsJson }) => JSON.parse(detailsJson).changes);
    expect(changes).toEqual([
      { before: { retentionDays: 365 }, after: { retentionDays: 500 } },
      {
        before: { pendingRetentionDays: null, pendingFrom: null },
        after: { pendingRetentionDays: 100, pendingFrom: expect.any(String) },
      },
    ]);
  });

  it("is not shown or changed without permission, factor, context or scope", async () => {
    const { orgId, admin, partner } = await organization();
    const other = await organization();
    const change = { retentionDays: 400 };
    const none = { ...admin, permissions: ["audit:read"] };
    expect(await refusal(client(none).getRetention({}))).toBe("permission_denied");
    expect(await refusal(client(none).updateRetention(change))).toBe("permission_denied");
    expect(await refusal(client({ ...admin, mfaAt: null }).updateRetention(change))).toBe("mfa_required");
    expect(await refusal(client(partner).getRetention({}))).toBe("organization_context_required");
    expect(await refusal(client(partner).updateRetention(change))).toBe("organization_context_required");
    for (const caller of [other.admin, other.partner]) {
      expect(await refusal(client(caller).getRetention({ orgId }))).toBe("organization_not_found");
      expect(await refusal(client(caller).updateRetention({ orgId, ...change }))).toBe("organization_not_found");
    }
    expect(await refusal(client({ ...admin, siteIds: [] }).getRetention({}))).toBe("site_restricted");
    expect(await refusal(client(admin).updateRetention({}))).toBe("no_updates");
    expect(await refusal(client(admin).updateRetention({ retentionDays: 0 }))).toBe("validation_failed");
    expect(await refusal(client(admin).updateRetention({ retentionDays: 3_651 }))).toBe("validation_failed");
    expect(await updates(orgId)).toEqual([]);
  });
});
