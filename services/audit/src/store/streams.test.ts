import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { asOwner, type TestDatabase } from "@muster/testing";
import { auditDatabase } from "../testing/audit.ts";
import { claimStream } from "./streams.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await auditDatabase();
});
afterAll(async () => {
  await database?.drop();
});

describe("the claim of a stream, while those of 2,000 organizations are due", () => {
  it("reads the first of them alone", async () => {
    await asOwner(database, async (owner) => {
      const each =
        "FROM (SELECT md5(n::text)::uuid AS id, md5((n % 20)::text)::uuid AS partner_id FROM generate_series(1, 2000) AS n) AS o";
      await owner.query(
        `INSERT INTO chain_head (chain_id, org_id, partner_id, seq) SELECT id, id, partner_id, 1 ${each}`,
      );
      await owner.query(
        `INSERT INTO audit_streams (id, org_id, partner_id, name, type, cursor_seq, created_by, created_at, updated_at)
         SELECT id, id, partner_id, 'Stream', 'archive', 0, 'test', now(), now() ${each}`,
      );
      await owner.query("ANALYZE");
    });
    const { stream, read } = await database.db.tx({ caller: systemCaller("audit") }, async (tx) => {
      const stream = await claimStream(tx, 45_000, []);
      const [row] = await tx.query<{ read: number }>(sql`
        SELECT sum(seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables
        WHERE relname IN ('chain_head', 'audit_streams')`);
      return { stream, read: row?.read };
    });
    expect(stream).not.toBeNull();
    expect(read).toBeLessThan(20);
  });
});
