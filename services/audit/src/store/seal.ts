import { randomBytes } from "node:crypto";
import { type Database, deadLetters, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { Entry } from "../rules/entry.ts";
import { type Head, type SealedEntry, sealChain } from "../rules/seal.ts";

/** Something refused on its way in: goes to the dead letters in the transaction that seals its notice. */
export type Rejected = { subject: string; msgId: string; reason: string; body: Uint8Array; deliveries: number };

type HeadRow = { chain_id: string; seq: number; checksum: string | null };

/**
 * Seals a batch in one transaction: heads locked in sorted order, repeats dropped by (chain, id), one insert, heads moved.
 * Returns how many rows were new. Two sealers on one chain wait for one another; neither can fork it.
 */
export async function sealBatch(
  db: Database,
  entries: readonly Entry[],
  rejected: readonly Rejected[],
): Promise<number> {
  const letters = deadLetters(db);
  return db.tx({ caller: systemCaller("audit") }, async (tx) => {
    const chains = new Map<string, Entry[]>();
    for (const entry of entries) {
      const chain = chains.get(entry.chainId);
      if (chain) chain.push(entry);
      else chains.set(entry.chainId, [entry]);
    }
    const heads = await lockHeads(tx, chains);
    const known = await storedIds(tx, entries);
    const sealed: SealedEntry[] = [];
    for (const [chainId, all] of chains) {
      const seen = new Set<string>();
      const fresh = all.filter(({ id }) => {
        const key = `${chainId}/${id}`;
        const isNew = !known.has(key) && !seen.has(key);
        seen.add(key);
        return isNew;
      });
      if (fresh.length > 0) sealed.push(...sealChain(heads.get(chainId) as Head, fresh, () => randomBytes(16)));
    }
    if (sealed.length > 0) {
      await insertSealed(tx, sealed);
      await moveHeads(tx, sealed, heads);
    }
    for (const { deliveries, ...letter } of rejected) await letters.put({ ...letter, attempts: deliveries }, tx);
    return sealed.length;
  });
}

async function lockHeads(tx: Tx, chains: Map<string, Entry[]>): Promise<Map<string, Head>> {
  const firsts = [...chains.values()].map((all) => all[0] as Entry).sort((a, b) => (a.chainId < b.chainId ? -1 : 1));
  const ids = firsts.map((e) => e.chainId);
  await tx.execute(sql`
    INSERT INTO chain_head (chain_id, org_id, partner_id)
    SELECT * FROM unnest(${ids}::uuid[], ${firsts.map((e) => e.orgId)}::uuid[], ${firsts.map((e) => e.partnerId)}::uuid[])
    ON CONFLICT (chain_id) DO NOTHING`);
  const rows = await tx.query<HeadRow>(sql`
    SELECT chain_id, seq, checksum FROM chain_head WHERE chain_id = ANY (${ids}::uuid[])
    ORDER BY chain_id FOR UPDATE`);
  return new Map(rows.map((row) => [row.chain_id, { seq: row.seq, checksum: row.checksum }]));
}

async function storedIds(tx: Tx, entries: readonly Entry[]): Promise<Set<string>> {
  const rows = await tx.query<{ chain_id: string; id: string }>(sql`
    SELECT l.chain_id, l.id
    FROM unnest(${entries.map((e) => e.chainId)}::uuid[], ${entries.map((e) => e.id)}::uuid[]) AS w (chain_id, id)
    JOIN audit_log l ON l.chain_id = w.chain_id AND l.id = w.id`);
  return new Set(rows.map((row) => `${row.chain_id}/${row.id}`));
}

async function insertSealed(tx: Tx, rows: readonly SealedEntry[]): Promise<void> {
  const column = <T>(pick: (row: SealedEntry) => T) => rows.map(pick);
  await tx.execute(sql`
    INSERT INTO audit_log (chain_id, seq, id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email, actor_name,
      actor_role, actor_department, session_id, action, resource_type, resource_id, resource_name, details, ip_address,
      user_agent, result, error_message, format, personal_salt, checksum, prev_checksum)
    SELECT * FROM unnest(
      ${column((r) => r.chainId)}::uuid[], ${column((r) => r.seq)}::bigint[], ${column((r) => r.id)}::uuid[],
      ${column((r) => r.orgId)}::uuid[], ${column((r) => r.partnerId)}::uuid[],
      ${column((r) => r.timestamp.toISOString())}::timestamptz[], ${column((r) => r.actorType)}::text[],
      ${column((r) => r.actorId)}::uuid[], ${column((r) => r.actorEmail)}::text[], ${column((r) => r.actorName)}::text[],
      ${column((r) => r.actorRole)}::text[], ${column((r) => r.actorDepartment)}::text[],
      ${column((r) => r.sessionId)}::uuid[], ${column((r) => r.action)}::text[],
      ${column((r) => r.resourceType)}::text[], ${column((r) => r.resourceId)}::uuid[],
      ${column((r) => r.resourceName)}::text[], ${column((r) => JSON.stringify(r.details))}::jsonb[],
      ${column((r) => r.ipAddress)}::text[], ${column((r) => r.userAgent)}::text[], ${column((r) => r.result)}::text[],
      ${column((r) => r.errorMessage)}::text[], ${column((r) => r.format)}::smallint[],
      ${column((r) => r.personalSalt)}::bytea[], ${column((r) => r.checksum)}::text[],
      ${column((r) => r.prevChecksum)}::text[])`);
}

async function moveHeads(tx: Tx, sealed: readonly SealedEntry[], from: Map<string, Head>): Promise<void> {
  const newest = new Map(sealed.map((row) => [row.chainId, row]));
  const rows = [...newest.values()];
  const moved = await tx.execute(sql`
    UPDATE chain_head h SET seq = n.seq, checksum = n.checksum, updated_at = now()
    FROM unnest(${rows.map((r) => r.chainId)}::uuid[], ${rows.map((r) => r.seq)}::bigint[],
                ${rows.map((r) => r.checksum)}::text[],
                ${rows.map((r) => from.get(r.chainId)?.seq ?? 0)}::bigint[]) AS n (chain_id, seq, checksum, old_seq)
    WHERE h.chain_id = n.chain_id AND h.seq = n.old_seq`);
  // The rows are locked, so this cannot happen; if it does, nothing of the batch may stand.
  if (moved !== rows.length) throw new Error(`chain heads moved under the lock: ${moved} of ${rows.length}`);
}
