import { type Database, type Query, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";

export type SnapshotRow = {
  kind: string;
  id: string;
  version: number;
  partner_id: string;
  org_id: string;
  status: string;
  deleted: boolean;
};

const rowsPerFetch = 5_000;

// Kinds in alphabetical order; each branch walks its primary key.
const branches: readonly { kind: string; rows: (where: Query) => Query }[] = [
  {
    kind: "organization",
    rows: (where) => sql`
      SELECT 'organization' AS kind, id, version, partner_id, id::text AS org_id, status, deleted_at IS NOT NULL AS deleted
      FROM organizations WHERE ${where}`,
  },
  {
    kind: "partner",
    rows: (where) => sql`
      SELECT 'partner' AS kind, id, version, id AS partner_id, '' AS org_id, status, deleted_at IS NOT NULL AS deleted
      FROM partners WHERE ${where}`,
  },
  {
    kind: "site",
    rows: (where) => sql`
      SELECT 'site' AS kind, id, version, partner_id, org_id::text AS org_id, '' AS status, false AS deleted
      FROM sites WHERE ${where}`,
  },
];

export const snapshotKinds: readonly string[] = branches.map(({ kind }) => kind);
const everyId = sql`true`;

/** Up to `limit` rows after a position, by kind and id; deleted partners and organizations included. */
export async function snapshotPage(
  db: Database,
  who: CallContext,
  after: { kind: string; id: string } | null,
  limit: number,
): Promise<SnapshotRow[]> {
  const readFrom = async (tx: Tx) => {
    const rows: SnapshotRow[] = [];
    for (const branch of branches) {
      if (after !== null && branch.kind < after.kind) continue;
      const left = limit - rows.length;
      if (left === 0) break;
      const from = after?.kind === branch.kind ? sql`id > ${after.id}::uuid` : everyId;
      rows.push(...(await tx.query<SnapshotRow>(sql`${branch.rows(from)} ORDER BY id LIMIT ${left}`)));
    }
    return rows;
  };
  return db.tx(who, readFrom, { readOnly: true });
}

/** Those of the ids that there are, deleted partners and organizations included. */
export function tenantsById(db: Database, who: CallContext, ids: readonly string[]): Promise<SnapshotRow[]> {
  const wanted = sql`id = ANY (${[...ids]}::uuid[])`;
  return db.read<SnapshotRow>(who, allOf(wanted));
}

/** Returns all rows in the order of snapshotPage, as of one moment, in batches. */
export async function eachSnapshotBatch(
  db: Database,
  who: CallContext,
  use: (rows: SnapshotRow[]) => void,
): Promise<void> {
  const everything = allOf(everyId);
  const walk = async (tx: Tx) => {
    // A cursor keeps the snapshot of its opening, whatever is written meanwhile.
    await tx.execute(sql`DECLARE everything NO SCROLL CURSOR FOR ${everything} ORDER BY kind, id`);
    for (;;) {
      const rows = await tx.query<SnapshotRow>({ text: `FETCH ${rowsPerFetch} FROM everything`, values: [] });
      if (rows.length === 0) return;
      use(rows);
    }
  };
  await db.tx(who, walk, { readOnly: true });
}

const allOf = (where: Query): Query =>
  branches.map(({ rows }) => rows(where)).reduce((all, next) => sql`${all} UNION ALL ${next}`);
