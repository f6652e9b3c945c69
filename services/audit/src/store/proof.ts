import { type Database, jobs, sql, type Tx, type Who } from "@muster/db";
import { AppError, type CallContext, decodeCursor, encodeCursor, type Page, zeroUuid } from "@muster/kit";
import { auditEvent } from "@muster/service";
import type { Range } from "../rules/range.ts";
import { openKeyOf, queueOf, type VerifyInput, verifyKind, waitingKeysOf } from "../rules/verification-job.ts";
import { rangeText, Values } from "./conditions.ts";

export type CheckpointRow = {
  id: number;
  chain_id: string;
  org_id: string | null;
  seq: number;
  checksum: string;
  note: string;
  created_at: Date;
};

/** The chain a verification without an organization is about: the caller's own. */
export function ownChain({ caller }: CallContext): string {
  return caller.orgId ?? caller.partnerId ?? zeroUuid;
}

/**
 * The tenant of a chain that the caller reads. Row-level security decides; an organization's chain may have no row yet.
 * Throws `organization_not_found`.
 */
export async function tenantOfChain(
  db: Database,
  who: Who,
  chainId: string,
): Promise<{ orgId: string | null; partnerId: string | null }> {
  if (chainId === zeroUuid) return { orgId: null, partnerId: null };
  const [row] = await db.read<{ kind: string | null; org_id: string | null; partner_id: string | null }>(
    who,
    sql`SELECT t.kind, h.org_id, coalesce(h.partner_id, t.partner_id) AS partner_id
        FROM (SELECT) one
        LEFT JOIN chain_head h ON h.chain_id = ${chainId}
        LEFT JOIN tenant t ON t.id = ${chainId} AND t.kind IN ('partner', 'organization')`,
  );
  if (row?.kind === "partner") return { orgId: null, partnerId: chainId };
  if (row?.kind === "organization") return { orgId: chainId, partnerId: row.partner_id };
  if (row?.org_id || row?.partner_id) return { orgId: row.org_id, partnerId: row.partner_id };
  throw new AppError("organization_not_found", "Organization not found");
}

/**
 * Queues a verification in the caller's transaction (policy job_verify); returns whether it did. Queues none while the
 * same one is open, or while the maximum number waits for this chain.
 */
export function queueVerification(db: Database, tx: Tx, { id, input }: { id: string; input: VerifyInput }) {
  const where = { owner: queueOf(input), openKey: openKeyOf(input), waitingKeys: waitingKeysOf(input) };
  return jobs(db).offer({ kind: verifyKind, id, input, ...where }, tx);
}

export function auditVerification(tx: Tx, context: CallContext, job: { id: string; input: VerifyInput }): void {
  const { chainId, orgId, partnerId, from } = job.input;
  tx.emit(
    auditEvent("audit", context, {
      action: "data.access",
      resource: { type: "audit_verification", id: job.id, name: null },
      orgId,
      partnerId,
      details: { operation: "verify", chainId, from },
    }),
  );
}

/** A page of checkpoints, newest first. Index checkpoint_by_id, or the primary key within one chain. */
export async function listCheckpoints(
  db: Database,
  who: Who,
  range: Range,
  page: Page,
): Promise<{ rows: CheckpointRow[]; total: number | null; nextCursor: string }> {
  const values = new Values();
  const conditions = [rangeText(values, range, "c")];
  const [before] = page.cursor ? decodeCursor(page.cursor, ["count"]) : [];
  const filter = conditions.join(" AND ");
  const total = page.skipCount ? null : await countOf(db, who, filter, [...values.list]);
  const from = before === undefined ? "" : ` AND c.id < ${values.add(before)}::bigint`;
  const offset = before === undefined ? (page.page - 1) * page.limit : 0;
  const found = await db.read<CheckpointRow>(who, {
    text: `SELECT c.id, c.chain_id, c.org_id, c.seq, c.checksum, c.note, c.created_at FROM checkpoint c
      WHERE ${filter}${from} ORDER BY c.id DESC OFFSET ${values.add(offset)} LIMIT ${values.add(page.limit + 1)}`,
    values: values.list,
  });
  const rows = found.slice(0, page.limit);
  const last = rows.at(-1);
  return { rows, total, nextCursor: found.length > page.limit && last ? encodeCursor([last.id]) : "" };
}

async function countOf(db: Database, who: Who, filter: string, values: unknown[]): Promise<number> {
  const text = `SELECT count(*) AS total FROM checkpoint c WHERE ${filter}`;
  const [row] = await db.read<{ total: number }>(who, { text, values });
  return row?.total ?? 0;
}

/** The newest deployment anchor; null before the first, and for callers below the system. */
export async function newestAnchor(db: Database, who: Who) {
  const [row] = await db.read<{ root: string; chains: number; note: string; created_at: Date }>(
    who,
    sql`SELECT root, chains, note, created_at FROM anchor ORDER BY id DESC LIMIT 1`,
  );
  return row ?? null;
}
