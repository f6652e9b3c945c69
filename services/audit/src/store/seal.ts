import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { type Database, deadLetters, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { Entry } from "../rules/entry.ts";
import { type Head, type SealedEntry, sealChain } from "../rules/seal.ts";
import { plainArray } from "./array-text.ts";
import { insertSealed } from "./sealed-rows.ts";

/** A refused message: dead-lettered in the transaction that seals its notice. */
export type Rejected = {
  subject: string;
  msgId: string;
  reason: string;
  body: Uint8Array;
  deliveries: number;
  traceparent: string | null;
  /** The entry that is sealed instead. */
  notice: Entry;
};

/** From this number of rows on, the second statement costs less than it saves. */
const worthHalving = 64;
/** Writes are sent at the end of a turn of the event loop. */
const sent = promisify(setImmediate);

type HeadRow = { chain_id: string; seq: number; checksum: string | null };

type Chain = { chainId: string; orgId: string | null; partnerId: string | null; entries: Entry[] };

/** The slow path of a batch: looks up repeats, and numbers rows after the heads or the last rows. */
type Care = { lookUp: boolean; after: "heads" | "rows" };

/**
 * Seals a batch in one transaction: heads locked in sorted order, repeats dropped by (chain, id), one insert, heads
 * moved. A refused message is dead-lettered when its notice is new, so that a repeat leaves no second dead letter.
 * Returns how many rows were new. Two sealers on one chain wait for one another; neither can fork it. `mayRepeat` looks
 * for repeats at once; otherwise the unique index finds them, and then the batch is sealed again.
 */
export async function sealBatch(
  db: Database,
  entries: readonly Entry[],
  rejected: readonly Rejected[],
  mayRepeat: boolean,
): Promise<number> {
  let care: Care = { lookUp: mayRepeat || rejected.length > 0, after: "heads" };
  for (;;) {
    try {
      return await sealWith(db, entries, rejected, care);
    } catch (error) {
      const taken = takenIn(error);
      if (taken === "id" && !care.lookUp) care = { ...care, lookUp: true };
      // A head that was reset, or a row inserted beyond it. New rows are appended behind the existing ones and link to
      // the head's checksum, so that verification reports it, while sealing of the chain and its neighbours continues
      // without a repair.
      else if (taken === "number" && care.after === "heads") care = { lookUp: true, after: "rows" };
      else throw error;
    }
  }
}

/** What a row of the batch has that a stored one has already. */
function takenIn(error: unknown): "id" | "number" | null {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  if (code !== "23505" || typeof constraint !== "string") return null;
  if (/^audit_log_\d\d_pkey$/.test(constraint)) return "number";
  return /^audit_log_\d\d_chain_id_id_key$/.test(constraint) ? "id" : null;
}

async function sealWith(
  db: Database,
  entries: readonly Entry[],
  rejected: readonly Rejected[],
  { lookUp, after }: Care,
): Promise<number> {
  const letters = deadLetters(db);
  const chains = chainsOf(entries);
  return db.tx({ caller: systemCaller("audit") }, async (tx) => {
    // Pipelined; each statement sees what was committed when the previous one ended, so the look-up of repeats follows
    // the locks.
    const [, rows, existing] = await Promise.all([
      addHeads(tx, chains),
      lockHeads(tx, chains),
      lookUp ? storedIds(tx, entries) : nothing,
    ]);
    const heads = new Map<string, Head>(rows.map(({ chain_id, seq, checksum }) => [chain_id, { seq, checksum }]));
    const lastRows = after === "rows" ? await lastSeqs(tx, heads) : new Map<string, number>();
    const writes: Promise<unknown>[] = [];
    const newest: SealedEntry[] = [];
    let count = 0;
    const insert = (rows: readonly SealedEntry[]) => {
      if (rows.length === 0) return;
      count += rows.length;
      writes.push(observed(insertSealed(tx, rows)));
    };
    const [only] = chains;
    if (chains.length === 1 && only && only.entries.length >= worthHalving) {
      // Meanwhile nothing else of the chain can be sealed: the database inserts one half while the other is prepared.
      const fresh = newOf(only.entries, existing);
      let head = headOf(only.chainId, heads, lastRows);
      for (const half of [fresh.slice(0, fresh.length / 2), fresh.slice(fresh.length / 2)]) {
        const sealed = sealChain(head, half, randomBytes);
        insert(sealed);
        const last = sealed.at(-1);
        if (!last) continue;
        head = last;
        newest[0] = last;
        await sent();
      }
    } else {
      insert(
        chains.flatMap(({ chainId, entries: all }) => {
          const sealed = sealChain(headOf(chainId, heads, lastRows), newOf(all, existing), randomBytes);
          newest.push(...sealed.slice(-1));
          return sealed;
        }),
      );
    }
    if (count > 0) writes.push(moveHeads(tx, newest, chains, heads));
    for (const { notice, deliveries, ...letter } of rejected) {
      const isRepeat = existing.has(`${notice.chainId}/${notice.id}`);
      if (!isRepeat) writes.push(letters.put({ ...letter, attempts: deliveries }, tx));
    }
    await Promise.all(writes);
    return count;
  });
}

/** The same promise, whose rejection another caller awaits later. */
function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function headOf(chainId: string, heads: ReadonlyMap<string, Head>, lastRows: ReadonlyMap<string, number>): Head {
  const { seq, checksum } = heads.get(chainId) as Head;
  return { seq: Math.max(seq, lastRows.get(chainId) ?? 0), checksum };
}

const nothing: ReadonlySet<string> = new Set();

/** Entries of one chain without those that are stored, each once. */
function newOf(entries: readonly Entry[], existing: ReadonlySet<string>): readonly Entry[] {
  const ids = new Set<string>();
  return entries.filter(({ chainId, id }) => {
    const isNew = !ids.has(id) && (existing.size === 0 || !existing.has(`${chainId}/${id}`));
    ids.add(id);
    return isNew;
  });
}

/** The chains of a batch, sorted by id: the fixed lock order of all sealers. */
function chainsOf(entries: readonly Entry[]): Chain[] {
  const chains = new Map<string, Chain>();
  for (const entry of entries) {
    const { chainId, orgId, partnerId } = entry;
    const chain = chains.get(chainId);
    if (!chain) chains.set(chainId, { chainId, orgId, partnerId, entries: [entry] });
    else {
      chain.partnerId ??= partnerId;
      chain.entries.push(entry);
    }
  }
  return [...chains.values()].sort((a, b) => (a.chainId < b.chainId ? -1 : 1));
}

function addHeads(tx: Tx, chains: readonly Chain[]): Promise<number> {
  return tx.execute(sql`
    INSERT INTO chain_head (chain_id, org_id, partner_id)
    SELECT * FROM unnest(${chains.map((c) => c.chainId)}::uuid[], ${chains.map((c) => c.orgId)}::uuid[],
                         ${chains.map((c) => c.partnerId)}::uuid[])
    ON CONFLICT (chain_id) DO NOTHING`);
}

function lockHeads(tx: Tx, chains: readonly Chain[]): Promise<HeadRow[]> {
  return tx.query<HeadRow>(sql`
    SELECT chain_id, seq, checksum FROM chain_head WHERE chain_id = ANY (${chains.map((c) => c.chainId)}::uuid[])
    ORDER BY chain_id FOR UPDATE`);
}

/** Last rows of chains, as far as a chain can have grown past its head: rows numbered beyond that are ignored. */
async function lastSeqs(tx: Tx, heads: ReadonlyMap<string, Head>): Promise<Map<string, number>> {
  const rows = await tx.query<{ chain_id: string; seq: number }>(sql`
    SELECT w.chain_id, l.seq FROM unnest(${[...heads.keys()]}::uuid[], ${[...heads.values()].map((h) => h.seq)}::bigint[]) AS w (chain_id, seq)
    CROSS JOIN LATERAL (
      SELECT l.seq FROM audit_log l WHERE l.chain_id = w.chain_id AND l.seq <= w.seq + 100000000 ORDER BY l.seq DESC LIMIT 1
    ) l`);
  return new Map(rows.map(({ chain_id, seq }) => [chain_id, seq]));
}

/**
 * Keys of what is stored already. The limit keeps the planner at one lookup in the index per row, whatever it believes.
 */
async function storedIds(tx: Tx, entries: readonly Entry[]): Promise<Set<string>> {
  const rows = await tx.query<{ key: string }>(sql`
    SELECT w.chain_id || '/' || w.id AS key
    FROM unnest(${plainArray(entries.map((e) => e.chainId))}::uuid[], ${plainArray(entries.map((e) => e.id))}::uuid[]) AS w (chain_id, id)
    CROSS JOIN LATERAL (SELECT FROM audit_log l WHERE l.chain_id = w.chain_id AND l.id = w.id LIMIT 1) stored`);
  return new Set(rows.map(({ key }) => key));
}

/** Heads to the last new row of each chain. */
async function moveHeads(
  tx: Tx,
  rows: readonly SealedEntry[],
  chains: readonly Chain[],
  from: ReadonlyMap<string, Head>,
): Promise<void> {
  const partners = new Map(chains.map(({ chainId, partnerId }) => [chainId, partnerId]));
  const moved = await tx.execute(sql`
    UPDATE chain_head h SET seq = n.seq, checksum = n.checksum, updated_at = now(),
      partner_id = coalesce(h.partner_id, n.partner_id)
    FROM unnest(${rows.map((r) => r.entry.chainId)}::uuid[], ${rows.map((r) => r.seq)}::bigint[],
                ${rows.map((r) => r.checksum)}::text[], ${rows.map((r) => from.get(r.entry.chainId)?.seq ?? 0)}::bigint[],
                ${rows.map((r) => partners.get(r.entry.chainId) ?? null)}::uuid[])
      AS n (chain_id, seq, checksum, old_seq, partner_id)
    WHERE h.chain_id = n.chain_id AND h.seq = n.old_seq`);
  // The rows are locked, so this cannot happen; if it does, nothing of the batch may stand.
  if (moved !== rows.length) throw new Error(`chain heads moved under the lock: ${moved} of ${rows.length}`);
}
