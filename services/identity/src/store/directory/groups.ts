import { type Database, sql, type Tx } from "@muster/db";
import type { CallContext, Page } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";

/** A group as administrators see it. */
export type ListedGroup = {
  id: string;
  display_name: string;
  external_id: string | null;
  members: number;
  created_at: Date;
  updated_at: Date;
};

/** A page of a directory's groups, newest first. */
export function listDirectoryGroups(
  db: Database,
  who: CallContext,
  directoryId: string,
  page: Page,
): Promise<ListPage<ListedGroup>> {
  const list = {
    table: sql`scim_groups`,
    columns: sql`t.id, t.display_name, t.external_id, t.created_at, t.updated_at,
      (SELECT count(*)::int FROM scim_members m WHERE m.group_id = t.id) AS members`,
    where: sql`t.directory_id = ${directoryId}`,
    visible: sql`true`,
  };
  return readNewestPage<ListedGroup>(db, who, list, page);
}

/** The first of these ids that is no group of the directory; null when all are. */
export async function unknownGroup(tx: Tx, directoryId: string, ids: readonly string[]): Promise<string | null> {
  if (ids.length === 0) return null;
  const [row] = await tx.query<{ id: string }>(sql`
    SELECT w.id FROM unnest(${[...ids]}::uuid[]) AS w (id)
    WHERE NOT EXISTS (SELECT FROM scim_groups g WHERE g.id = w.id AND g.directory_id = ${directoryId}) LIMIT 1`);
  return row?.id ?? null;
}
