import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type CallContext, type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import {
  asOwner,
  callers,
  contextProblems,
  databaseAs,
  fillCommonTables,
  foreignTextProblems,
  type TestDatabase,
  tablesWithoutContext,
} from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { type LogFilter, noFilter } from "../rules/log-filter.ts";
import type { Range } from "../rules/range.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { findLog, listLogs, readableRange } from "./logs.ts";
import { searchPermits } from "./search-permits.ts";

let database: TestDatabase;
const [partnerId, orgId] = [uuidv7(), uuidv7()];
const id = uuidv7();
beforeAll(async () => {
  database = await auditDatabase();
  await fillCommonTables(database, true);
  const log = createLogger("audit-test", "fatal");
  const sealer = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1_048_576 };
  await sealMessages(sealer, [auditMessage({ id, partnerId, orgId }), auditMessage({ partnerId }), auditMessage()]);
  await asOwner(database, async (client) => {
    for (const text of [
      "INSERT INTO checkpoint (chain_id, org_id, partner_id, seq, checksum, note, created_at) VALUES ($1, $1, $2, 1, 'c', 'n', now())",
      "INSERT INTO anchor (up_to, chains, root, note, created_at) SELECT 1, 1, $1::text || $2::text, 'n', now()",
      "INSERT INTO chain_cleanup (chain_id, org_id, partner_id, last_cleanup_at) VALUES ($1, $1, $2, now())",
      `INSERT INTO prune_receipts (chain_id, org_id, partner_id, first_seq, last_seq, last_checksum, pruned_at, note)
       VALUES ($1, $1, $2, 1, 1, 'c', now(), 'n')`,
      "INSERT INTO retention_policy (org_id, partner_id) VALUES ($1, $2)",
      "INSERT INTO appended_event (org_id, id, partner_id, accepted_at) VALUES ($1, $1, $2, now())",
      "INSERT INTO appended_rows (org_id, day, partner_id, rows) VALUES ($1, now()::date, $2, 1)",
      `INSERT INTO export_part (export_id, number, rows, bytes, sha256, content)
       SELECT $1::uuid, 1, 0, 1, 's', convert_to($2::text, 'UTF8')`,
      `INSERT INTO audit_alerts (id, org_id, partner_id, name, filter, threshold_count, webhook, recipients, author_id,
                                 author_checked_at, created_at, updated_at)
       VALUES ($1, $1, $2, 'x', '{}', 1, true, '{}', $1, now(), now(), now())`,
      "INSERT INTO audit_alert_cursors (chain_id, org_id, partner_id, seq) VALUES ($1, $1, $2, 0)",
      "INSERT INTO audit_alert_starts (chain_id, alert_id, org_id, partner_id, seq) VALUES ($1, $1, $1, $2, 0)",
      "INSERT INTO audit_alert_counts (alert_id, chain_id, times) SELECT $1::uuid, $2::uuid, '{}'",
      `INSERT INTO audit_alert_firings (id, alert_id, chain_id, last_seq, rows, sample, fired_at, next_at)
       VALUES ($1, $1, $2, 1, 1, '[]', now(), now())`,
      `INSERT INTO audit_streams (id, org_id, partner_id, name, type, cursor_seq, created_by, created_at, updated_at)
       VALUES ($1, $1, $2, 'x', 'archive', 0, 'x', now(), now())`,
    ]) {
      await client.query(text, [orgId, partnerId]);
    }
  });
});
afterAll(async () => {
  await database?.drop();
});

const page = { page: 1, limit: 50, cursor: null, skipCount: false };
const meta = { requestId: "r", clientAddress: null, userAgent: null, traceparent: null };
const context = (caller: Caller): CallContext => {
  return { caller, meta, deadlineMs: null, signal: new AbortController().signal };
};
const filters: LogFilter[] = [noFilter, { ...noFilter, action: "site" }, { ...noFilter, query: "ada" }];
const ranges: Range[] = [
  { kind: "all" },
  { kind: "partner", partnerId },
  { kind: "chains", chainIds: [orgId, partnerId] },
];

/** The database as `caller` finds it, whomever the queries' own predicates believe in. */
const seenBy = (caller: Caller | null) => databaseAs(database.db, caller);

async function everythingSeen(db: TestDatabase["db"]): Promise<unknown[]> {
  const who = context(systemCaller("audit"));
  const search = { db, budgetMs: 2_000, permits: searchPermits(2, 2_000) };
  const found: unknown[] = [];
  for (const range of ranges) {
    found.push(await findLog(db, who, range, id));
    for (const filter of filters) found.push(...(await listLogs(search, who, range, filter, page)).rows);
  }
  return found.filter((row) => row !== null);
}

describe("the store", () => {
  it("returns no row of any table, and permits no change, without a caller", async () => {
    expect(contextProblems(await tablesWithoutContext(database))).toEqual([]);
  });

  it("takes a foreign caller's text in every column", async () => {
    expect(await foreignTextProblems(database)).toEqual([]);
  });

  it("returns nothing to a transaction without a tenant, whatever the query is", async () => {
    expect(await everythingSeen(seenBy(systemCaller("audit")))).not.toEqual([]);
    expect(await everythingSeen(seenBy(null))).toEqual([]);
    const who = context(callers.platformAdmin());
    await expect(readableRange(readerOf({ db: seenBy(null) }), who, orgId)).rejects.toMatchObject({
      code: "organization_not_found",
    });
  });

  it("enforces each barrier separately: the policies hide rows that a query fails to exclude", async () => {
    const foreignCallers = [
      callers.partnerAdmin(uuidv7()),
      callers.partnerWithList(uuidv7(), [orgId]),
      callers.orgAdmin(partnerId, uuidv7()),
      callers.orgAdmin(uuidv7(), uuidv7()),
    ];
    for (const foreignCaller of foreignCallers) expect(await everythingSeen(seenBy(foreignCaller))).toEqual([]);
  });
});
