import { type Database, sql, type Tx } from "@muster/db";
import { ownMeta, systemCaller } from "@muster/kit";
import { auditEvent } from "@muster/service";
import { leafHash } from "../rules/merkle.ts";

export type MovedHead = {
  chain_id: string;
  org_id: string | null;
  partner_id: string | null;
  seq: number;
  checksum: string;
  /** Last checkpoint of the chain: its position and its age in seconds; null when there is none. */
  last_seq: number | null;
  age: number | null;
};

/** `contradicts`: what was signed of the chain before, and is not its row any more. */
export type SignedHead = MovedHead & { note: string; contradicts: SignedPosition | null };

export type SignedPosition = { seq: number; head: string };

const who = { caller: systemCaller("audit") };
/** Seconds after which another takes the lease of a checkpointer that does not renew it. */
export const leaseSeconds = 30;

/** After how many seconds or rows a chain is due, after how many seconds an anchor, and whether copies are made. */
export type Due = { intervalSeconds: number; rows: number; anchorSeconds: number; copies: boolean };

/**
 * Whether a chain whose head moved within `withinSeconds` is due for a checkpoint, an anchor is due, or anything has no
 * copy outside yet. Reads only.
 */
export async function isAnyDue(db: Database, withinSeconds: number, due: Due): Promise<boolean> {
  const { intervalSeconds, rows, anchorSeconds, copies } = due;
  const found = await db.read(
    who,
    sql`SELECT FROM chain_head h
        LEFT JOIN LATERAL (
          SELECT seq, created_at FROM checkpoint WHERE chain_id = h.chain_id ORDER BY seq DESC LIMIT 1) c ON true
        WHERE h.seq > coalesce(c.seq, 0) AND h.checksum IS NOT NULL
          AND h.updated_at > now() - ${withinSeconds}::float8 * interval '1 second'
          AND (c.seq IS NULL OR h.seq - c.seq >= ${rows}::int OR c.created_at <= now() - ${intervalSeconds}::float8 * interval '1 second')
        UNION ALL
        SELECT FROM checkpoint c
        WHERE NOT EXISTS (SELECT FROM anchor a WHERE a.created_at > now() - ${anchorSeconds}::float8 * interval '1 second')
          AND c.id > coalesce((SELECT max(up_to) FROM anchor), 0)
        UNION ALL
        SELECT FROM checkpoint WHERE ${copies}::boolean AND copied_at IS NULL
        UNION ALL
        SELECT FROM anchor WHERE ${copies}::boolean AND copied_at IS NULL
        LIMIT 1`,
  );
  return found.length > 0;
}

/** Takes or renews the lease of the one active checkpointer; false while another holds it. */
export async function takeLease(db: Database, holder: string): Promise<boolean> {
  const rows = await db.inOneBatch(who, (tx) =>
    tx.execute(sql`
      UPDATE checkpoint_lease SET holder = ${holder}, expires_at = clock_timestamp() + ${leaseSeconds} * interval '1 second'
      WHERE holder = ${holder} OR expires_at < clock_timestamp()`),
  );
  return rows === 1;
}

/** Returns the lease, so that another process need not wait for its expiry. */
export async function giveLease(db: Database, holder: string): Promise<void> {
  await db.inOneBatch(who, (tx) =>
    tx.execute(sql`UPDATE checkpoint_lease SET expires_at = '-infinity' WHERE holder = ${holder}`),
  );
}

/** Locks the lease for this transaction; false when another process holds it by now. */
async function holdsLease(tx: Tx, holder: string): Promise<boolean> {
  const rows = await tx.query(sql`
    SELECT FROM checkpoint_lease WHERE holder = ${holder} AND expires_at > clock_timestamp() FOR UPDATE`);
  return rows.length === 1;
}

/**
 * Chains whose head moved since their last checkpoint, by id after `afterChain` (null: from the first). Only heads that
 * moved within `withinSeconds` are checked; null checks all.
 */
export async function movedHeads(
  db: Database,
  withinSeconds: number | null,
  afterChain: string | null,
  limit: number,
): Promise<MovedHead[]> {
  return db.read<MovedHead>(
    who,
    sql`SELECT h.chain_id, h.org_id, h.partner_id, h.seq, h.checksum, c.seq AS last_seq,
               extract(epoch FROM now() - c.created_at)::float8 AS age
        FROM chain_head h
        LEFT JOIN LATERAL (
          SELECT seq, created_at FROM checkpoint WHERE chain_id = h.chain_id ORDER BY seq DESC LIMIT 1) c ON true
        WHERE (${afterChain}::uuid IS NULL OR h.chain_id > ${afterChain}::uuid) AND h.seq > coalesce(c.seq, 0) AND h.checksum IS NOT NULL
          AND (${withinSeconds}::float8 IS NULL OR h.updated_at > now() - ${withinSeconds} * interval '1 second')
        ORDER BY h.chain_id LIMIT ${limit}`,
  );
}

/**
 * Those of these positions in chains that hold another row than was signed, or none. What retention removed counts as
 * signed.
 */
export async function contradictedPositions(
  db: Database,
  positions: readonly (SignedPosition & { chainId: string })[],
): Promise<Set<string>> {
  const rows = await db.read<{ chain_id: string }>(
    who,
    sql`SELECT w.chain_id
        FROM unnest(${positions.map((p) => p.chainId)}::uuid[], ${positions.map((p) => p.seq)}::bigint[], ${positions.map((p) => p.head)}::text[])
          AS w (chain_id, seq, head)
        LEFT JOIN chain_head h ON h.chain_id = w.chain_id
        WHERE w.seq > coalesce(h.base_seq, 0)
          AND NOT EXISTS (SELECT FROM audit_log l WHERE l.chain_id = w.chain_id AND l.seq = w.seq AND l.checksum = w.head)`,
  );
  return new Set(rows.map(({ chain_id }) => chain_id));
}

/**
 * Stores checkpoints and publishes them on the bus, in one transaction, and audits those that contradict an earlier
 * signed one. Returns their number; 0 when the lease was lost.
 */
export async function storeCheckpoints(
  db: Database,
  holder: string,
  heads: readonly SignedHead[],
  at: Date,
): Promise<number> {
  return db.tx(who, async (tx) => {
    if (!(await holdsLease(tx, holder))) return 0;
    const stored = await tx.query<{ chain_id: string; seq: number; checksum: string; note: string }>(sql`
      INSERT INTO checkpoint (chain_id, org_id, partner_id, seq, checksum, note, created_at)
      SELECT *, ${at.toISOString()}::timestamptz
      FROM unnest(${heads.map((h) => h.chain_id)}::uuid[], ${heads.map((h) => h.org_id)}::uuid[],
                  ${heads.map((h) => h.partner_id)}::uuid[], ${heads.map((h) => h.seq)}::bigint[],
                  ${heads.map((h) => h.checksum)}::text[], ${heads.map((h) => h.note)}::text[])
      ON CONFLICT DO NOTHING RETURNING chain_id, seq, checksum, note`);
    for (const { chain_id, seq, checksum, note } of stored) {
      // With the checksum: a chain that was cut and grew to the same position again is no repeat.
      const msgId = `${chain_id}/${seq}/${checksum}`;
      tx.emit({ subject: `checkpoints.${chain_id}`, msgId, body: Buffer.from(note) });
    }
    for (const head of heads) if (head.contradicts) tx.emit(contradiction(head, head.contradicts, at));
    return stored.length;
  });
}

function contradiction({ chain_id, org_id, partner_id, seq }: SignedHead, signed: SignedPosition, at: Date) {
  return auditEvent(
    "audit",
    { caller: who.caller, meta: ownMeta("") },
    {
      action: "audit.chain.contradicted",
      resource: { type: "audit_chain", id: chain_id, name: null },
      orgId: org_id,
      partnerId: partner_id,
      details: { signed, signedAgainAt: seq },
      result: "failure",
      errorMessage: `Row ${signed.seq} is not the one that was signed`,
    },
    at,
  );
}

export type UncopiedNote = { id: number; key: string; note: string };

/** Checkpoints and anchors that have no copy outside yet, oldest first. */
export async function uncopied(db: Database, table: "checkpoint" | "anchor", limit: number): Promise<UncopiedNote[]> {
  if (table === "checkpoint") {
    return db.read<UncopiedNote>(
      who,
      sql`SELECT id, 'checkpoints/' || chain_id || '/' || lpad(seq::text, 16, '0') || '.note' AS key, note
          FROM checkpoint WHERE copied_at IS NULL ORDER BY id LIMIT ${limit}`,
    );
  }
  return db.read<UncopiedNote>(
    who,
    sql`SELECT id, 'anchors/' || lpad(id::text, 16, '0') || '.note' AS key, note
        FROM anchor WHERE copied_at IS NULL ORDER BY id LIMIT ${limit}`,
  );
}

/** Notes that these were copied. */
export async function markCopied(db: Database, table: "checkpoint" | "anchor", ids: readonly number[]): Promise<void> {
  await db.inOneBatch(who, (tx) =>
    tx.execute(
      table === "checkpoint"
        ? sql`UPDATE checkpoint SET copied_at = now() WHERE id = ANY (${ids}::bigint[])`
        : sql`UPDATE anchor SET copied_at = now() WHERE id = ANY (${ids}::bigint[])`,
    ),
  );
}

/** What an anchor made now would cover; null while the last one is younger than `minAgeSeconds`, or nothing is new. */
export async function anchorDue(db: Database, minAgeSeconds: number): Promise<{ upTo: number } | null> {
  const [row] = await db.read<{ up_to: number | null }>(
    who,
    sql`SELECT max(c.id) AS up_to FROM checkpoint c
        WHERE NOT EXISTS (SELECT FROM anchor a WHERE a.created_at > now() - ${minAgeSeconds} * interval '1 second')
          AND c.id > coalesce((SELECT max(up_to) FROM anchor), 0)`,
  );
  return row?.up_to ? { upTo: row.up_to } : null;
}

/** Leaf hashes of the newest checkpoint of each chain among those with id up to `upTo`, by chain id. */
export async function anchorLeaves(db: Database, upTo: number): Promise<Buffer[]> {
  const leaves: Buffer[] = [];
  const pageChains = 2_000;
  for (let after = ""; ; ) {
    const rows = await db.read<{ chain_id: string; note: string }>(
      who,
      sql`SELECT DISTINCT ON (chain_id) chain_id, note FROM checkpoint
          WHERE id <= ${upTo} AND (${after} = '' OR chain_id > nullif(${after}, '')::uuid)
          ORDER BY chain_id, seq DESC LIMIT ${pageChains}`,
    );
    for (const { note } of rows) leaves.push(leafHash(note));
    if (rows.length < pageChains) return leaves;
    after = rows.at(-1)?.chain_id ?? after;
  }
}

/** Stores an anchor; false when the lease was lost. */
export async function storeAnchor(
  db: Database,
  holder: string,
  anchor: { upTo: number; chains: number; root: string; note: string; at: Date },
): Promise<boolean> {
  return db.tx(who, async (tx) => {
    if (!(await holdsLease(tx, holder))) return false;
    await tx.execute(sql`
      INSERT INTO anchor (up_to, chains, root, note, created_at)
      VALUES (${anchor.upTo}, ${anchor.chains}, ${anchor.root}, ${anchor.note}, ${anchor.at.toISOString()})`);
    return true;
  });
}

/**
 * Removes checkpoints older than a week that no anchor covers and that are not the newest of their chain: what remains
 * shows each chain as of each anchor. Returns how many.
 */
export async function thinCheckpoints(db: Database, limit: number): Promise<number> {
  return db.inOneBatch(who, (tx) =>
    tx.execute(sql`
      DELETE FROM checkpoint WHERE (chain_id, seq) IN (
        SELECT c.chain_id, c.seq FROM checkpoint c
        CROSS JOIN LATERAL (
          SELECT id FROM checkpoint n WHERE n.chain_id = c.chain_id AND n.seq > c.seq ORDER BY n.seq LIMIT 1) next
        WHERE c.created_at < now() - interval '7 days'
          AND NOT EXISTS (SELECT FROM anchor a WHERE a.up_to >= c.id AND a.up_to < next.id)
        LIMIT ${limit})`),
  );
}
