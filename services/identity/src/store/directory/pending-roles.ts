import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { DirectoryRow, MappedDirectory } from "../../rules/directory/directory.ts";
import type { Cause } from "../../rules/directory/role-mapping.ts";

const system = { caller: systemCaller("identity") };

/** Has the roles of users evaluated again by later transactions. */
export async function addPendingRoles(
  tx: Tx,
  directory: Pick<DirectoryRow, "id" | "partner_id" | "org_id">,
  userIds: readonly string[],
  cause: Cause,
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO pending_roles AS p (directory_id, user_id, partner_id, org_id, cause, created_at)
    SELECT ${directory.id}, w.id, ${directory.partner_id}, ${directory.org_id}, ${cause}, ${now}
    FROM unnest(${[...userIds]}::uuid[]) AS w (id)
    ON CONFLICT (directory_id, user_id) DO UPDATE SET cause = EXCLUDED.cause`);
}

export type PendingRole = { user_id: string; cause: Cause };

/** Takes the next users of a directory; the caller holds the lock of its partner's administration. */
export const takePendingRoles = (tx: Tx, directoryId: string, limit: number): Promise<PendingRole[]> =>
  tx.query<PendingRole>(sql`
    DELETE FROM pending_roles p USING (
      SELECT user_id FROM pending_roles WHERE directory_id = ${directoryId} ORDER BY user_id LIMIT ${limit}) next
    WHERE p.directory_id = ${directoryId} AND p.user_id = next.user_id RETURNING p.user_id, p.cause`);

/** The directory as it is now; null when it has gone. */
export async function mappedDirectory(tx: Tx, id: string): Promise<MappedDirectory | null> {
  const [row] = await tx.query<MappedDirectory>(sql`
    SELECT d.id, d.name, d.partner_id, d.org_id, d.provider_id, d.default_role_id, d.default_role_by
    FROM directories d WHERE d.id = ${id}`);
  return row ?? null;
}

/** Directories that have pending users. */
export const directoriesWithPending = (db: Database): Promise<{ id: string; partner_id: string }[]> =>
  db.read(
    system,
    sql`SELECT d.id, d.partner_id FROM directories d
        WHERE EXISTS (SELECT FROM pending_roles p WHERE p.directory_id = d.id) ORDER BY d.id`,
  );
