import { sql, type Tx } from "@muster/db";
import type { MappedDirectory } from "../../rules/directory/directory.ts";

/** The directory whose users sign in through a provider; null for none (index directories_provider). */
export async function directoryOfProvider(tx: Tx, providerId: string): Promise<MappedDirectory | null> {
  const [row] = await tx.query<MappedDirectory>(sql`
    SELECT d.id, d.name, d.partner_id, d.org_id, d.provider_id, d.default_role_id, d.default_role_by
    FROM directories d WHERE d.provider_id = ${providerId}`);
  return row ?? null;
}

/** Notes the groups of a sign-in at its link: later changes of a mapping read them. */
export async function storeClaimGroups(
  tx: Tx,
  { providerId, userId }: { providerId: string; userId: string },
  groups: readonly string[],
): Promise<void> {
  await tx.execute(sql`
    UPDATE sso_identities SET claim_groups = ${[...groups]}::text[]
    WHERE provider_id = ${providerId} AND user_id = ${userId}`);
}
