import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { register } from "@muster/rpc";
import { attentionService } from "@muster/service";
import { asOwner, callers, contextOf, explained, type TestPort, testPort } from "@muster/testing";
import { startRelease, type TestRelease } from "../testing/release.ts";
import { haltedRolloutSource } from "./attention.ts";

let service: TestRelease;
let port: TestPort;
beforeAll(async () => {
  service = await startRelease();
  const attention = attentionService(service.deps.db, [haltedRolloutSource]);
  port = await testPort("agent-release", [register(AttentionService, attention)]);
});
afterAll(async () => {
  await port?.close();
  await service?.stop();
});

const permissions = ["devices:read", "agent-releases:read"];
const root = callers.platformAdmin({ permissions });
const list = async (caller: Caller, orgId = "") =>
  (await port.client(AttentionService, caller).listAttention({ orgId })).items;

describe("rollouts that need attention", () => {
  it("are halted as a whole, with the reason, until they are resumed", async () => {
    const id = await service.stage("1.1.0");
    expect(await list(root)).toEqual([]);
    await service.change(sql`
      UPDATE rollout SET state = 'halted', reason = '3 failures, the last: silent', halted_at = now() WHERE id = ${id}::uuid`);
    const item = { kind: "rollout", recordType: "rollout", recordId: id, recordName: "agent 1.1.0", orgId: "" };
    expect(await list(root)).toMatchObject([{ ...item, sentence: "Halted: 3 failures, the last: silent." }]);
    expect(await list(callers.platformAdmin({ permissions: ["devices:read"] }))).toEqual([]);
    await service.change(sql`UPDATE rollout SET state = 'cancelled', halted_at = NULL WHERE id = ${id}::uuid`);
    expect(await list(root)).toEqual([]);
  });

  it("are halted for an organization, which others do not see", async () => {
    const id = await service.stage("1.2.0");
    const [partnerId, orgId, otherOrg] = [uuidv7(), uuidv7(), uuidv7()];
    await service.change(sql`
      INSERT INTO rollout_part (rollout_id, kind, name, org_id, partner_id, failed, halted_at, reason)
      VALUES (${id}::uuid, 'organization', ${orgId}, ${orgId}::uuid, ${partnerId}::uuid, 3, now(), '3 of 4 updates failed')`);
    const sentence = "Halted for one organization: 3 of 4 updates failed.";
    expect(await list(root)).toMatchObject([{ recordId: id, sentence }]);
    expect(await list(root, orgId)).toHaveLength(1);
    expect(await list(root, otherOrg)).toEqual([]);
    expect(await list(callers.partnerAdmin(partnerId, { permissions }))).toHaveLength(1);
    expect(await list(callers.partnerAdmin(uuidv7(), { permissions }))).toEqual([]);
  });
});

describe("halted parts among many", () => {
  it("are found by an index, whoever asks", async () => {
    const id = await service.stage("9.1.0");
    const [partnerId, orgId] = [uuidv7(), uuidv7()];
    await asOwner(service.database, async (owner) => {
      await owner.query(
        `INSERT INTO rollout_part (rollout_id, kind, name, org_id, partner_id, halted_at)
         SELECT $1::uuid, 'organization', n, CASE WHEN n = 7 THEN $2::uuid ELSE gen_random_uuid() END, $3::uuid,
                CASE WHEN n = 7 THEN now() END
         FROM generate_series(1, 20000) n`,
        [id, orgId, partnerId],
      );
      await owner.query("ANALYZE rollout, rollout_part");
    });
    for (const caller of [
      root,
      callers.partnerAdmin(partnerId, { permissions }),
      callers.orgAdmin(partnerId, orgId, { permissions }),
    ]) {
      const { db, scans } = explained(service.deps.db);
      const context = contextOf(caller);
      const found = await db.inOneBatch(context, (tx) => haltedRolloutSource.find(tx, context, null, 101));
      expect(found.filter(({ record }) => record?.id === id)).toHaveLength(1);
      const parts = scans.flatMap(({ table, by }) => (table === "rollout_part" ? [by] : []));
      expect(parts.length).toBeGreaterThan(0);
      expect(parts).not.toContain("Seq Scan");
    }
  });
});
