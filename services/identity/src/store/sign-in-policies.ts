import { type Database, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";

export type SignInPolicy = { requireSecondFactor: boolean };

/** Of an organization, or with `orgId` null of a partner itself. */
export type PolicyOwner = { partnerId: string; orgId: string | null };

/** What the owner requires itself, and what counts with what its partner requires. */
export async function findSignInPolicy(
  db: Pick<Database, "read">,
  who: Pick<CallContext, "caller">,
  { partnerId, orgId }: PolicyOwner,
): Promise<{ own: SignInPolicy; effective: SignInPolicy }> {
  const rows = await db.read<{ org_id: string | null; require_second_factor: boolean }>(
    who,
    sql`SELECT org_id, require_second_factor FROM sign_in_policies
        WHERE partner_id = ${partnerId} AND (org_id IS NULL OR org_id = ${orgId}::uuid)`,
  );
  const requires = (some: typeof rows) => ({ requireSecondFactor: some.some((row) => row.require_second_factor) });
  return { own: requires(rows.filter((row) => row.org_id === orgId)), effective: requires(rows) };
}

/** Replaces the owner's policy; returns the one before. */
export async function putSignInPolicy(
  tx: Tx,
  { partnerId, orgId }: PolicyOwner,
  { requireSecondFactor }: SignInPolicy,
  now: Date,
): Promise<SignInPolicy> {
  const [before] = await tx.query<{ require_second_factor: boolean }>(sql`
    SELECT require_second_factor FROM sign_in_policies WHERE owner_id = ${orgId ?? partnerId} FOR NO KEY UPDATE`);
  await tx.execute(sql`
    INSERT INTO sign_in_policies (partner_id, org_id, require_second_factor, updated_at)
    VALUES (${partnerId}, ${orgId}, ${requireSecondFactor}, ${now})
    ON CONFLICT (owner_id) DO UPDATE SET require_second_factor = excluded.require_second_factor,
      updated_at = excluded.updated_at`);
  return { requireSecondFactor: before?.require_second_factor ?? false };
}
