import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, systemCaller, uuidv7 } from "@muster/kit";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { register } from "@muster/rpc";
import { attentionService } from "@muster/service";
import { asOwner, callers, contextOf, explained, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { auditDatabase } from "../testing/audit.ts";
import { failingStreamSource } from "./attention.ts";

let database: TestDatabase;
let port: TestPort;
beforeAll(async () => {
  database = await auditDatabase();
  port = await testPort("audit", [register(AttentionService, attentionService(database.db, [failingStreamSource]))]);
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
});

const permissions = ["devices:read", "audit:write"];
const list = async (caller: Caller, orgId = "") =>
  (await port.client(AttentionService, caller).listAttention({ orgId })).items;

async function stream(partnerId: string, orgId: string, { status = "active", failures = 0 }): Promise<string> {
  const id = uuidv7();
  await database.db.tx({ caller: systemCaller("audit") }, (tx) =>
    tx.execute(sql`
      INSERT INTO audit_streams (id, org_id, partner_id, name, type, cursor_seq, status, failures, failing_since, last_error,
                                 created_by, created_at, updated_at)
      VALUES (${id}, ${orgId}, ${partnerId}, 'SIEM', 'archive', 0, ${status}, ${failures}, now(), 'answered 503', 'ada', now(), now())`),
  );
  return id;
}

describe("streams that need attention", () => {
  it("are those that fail, of organizations in scope", async () => {
    const [partnerId, orgId, otherOrg] = [uuidv7(), uuidv7(), uuidv7()];
    await stream(partnerId, orgId, {});
    await stream(partnerId, orgId, { status: "paused", failures: 9 });
    const id = await stream(partnerId, orgId, { failures: 2 });
    const marked = await stream(partnerId, otherOrg, { status: "failed", failures: 90 });
    const partner = callers.partnerAdmin(partnerId, { permissions });
    const [item, ...others] = await list(callers.orgAdmin(partnerId, orgId, { permissions }));
    expect(others).toEqual([]);
    expect(item).toMatchObject({ kind: "audit_stream", recordId: id, recordName: "SIEM", orgId, partnerId });
    expect(item?.sentence).toMatch(/^2 attempts in a row failed since .* The last error: answered 503$/);
    expect((await list(partner)).map(({ recordId }) => recordId).sort()).toEqual([id, marked].sort());
    expect(await list(partner, otherOrg)).toMatchObject([{ recordId: marked }]);
    expect(await list(callers.partnerAdmin(uuidv7(), { permissions }), orgId)).toEqual([]);
  });

  it("are hidden from who may not read streams, and from users of single sites", async () => {
    const [partnerId, orgId] = [uuidv7(), uuidv7()];
    await stream(partnerId, orgId, { failures: 1 });
    expect(await list(callers.orgAdmin(partnerId, orgId, { permissions: ["devices:read"] }))).toEqual([]);
    expect(await list(callers.orgAdmin(partnerId, orgId, { permissions, siteIds: [uuidv7()] }))).toEqual([]);
    expect(await list(callers.orgAdmin(partnerId, orgId, { permissions }))).toHaveLength(1);
  });
});

describe("failing streams among many", () => {
  it("are found by an index, whoever asks", async () => {
    const [partnerId, orgId] = [uuidv7(), uuidv7()];
    await asOwner(database, async (owner) => {
      await owner.query(
        `INSERT INTO audit_streams (id, org_id, partner_id, name, type, cursor_seq, failures, created_by, created_at, updated_at)
         SELECT gen_random_uuid(), CASE WHEN n = 7 THEN $1::uuid ELSE gen_random_uuid() END, $2::uuid, 'SIEM', 'archive', 0,
                CASE WHEN n = 7 THEN 3 ELSE 0 END, 'ada', now(), now()
         FROM generate_series(1, 5000) n`,
        [orgId, partnerId],
      );
      await owner.query("ANALYZE audit_streams");
    });
    for (const caller of [
      callers.platformAdmin({ permissions }),
      callers.partnerAdmin(partnerId, { permissions }),
      callers.orgAdmin(partnerId, orgId, { permissions }),
    ]) {
      const { db, scans } = explained(database.db);
      const context = contextOf(caller);
      const found = await db.inOneBatch(context, (tx) => failingStreamSource.find(tx, context, null, 101));
      expect(found.filter((row) => row.orgId === orgId)).toHaveLength(1);
      const streams = scans.flatMap(({ table, by }) => (table === "audit_streams" ? [by] : []));
      expect(streams.length).toBeGreaterThan(0);
      expect(streams).not.toContain("Seq Scan");
    }
  });
});
