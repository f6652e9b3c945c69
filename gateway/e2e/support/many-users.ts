import type { Cluster } from "./cluster.ts";
import { asDatabaseOwner } from "./owner-rows.ts";

/** Active viewers of an organization's directory, written past the product; members of `groupId`. */
export async function manyUsers(cluster: Cluster, directoryId: string, groupId: string, count: number): Promise<void> {
  const text = `
    WITH made AS (
      INSERT INTO identity.users (id, email, name, scope, partner_id, org_id, role_id, status, created_at, updated_at)
      SELECT gen_random_uuid(), gen_random_uuid() || '@many.example', 'Member ' || n, 'organization', d.partner_id, d.org_id,
             (SELECT id FROM identity.roles WHERE key = 'org-viewer'), 'active', now(), now()
      FROM identity.directories d, generate_series(1, $2::int) n WHERE d.id = $1
      RETURNING id, email, partner_id, org_id
    ), provisioned AS (
      INSERT INTO identity.scim_users (user_id, directory_id, partner_id, org_id, user_name_key, emails, active, document,
                                       created_at, updated_at)
      SELECT id, $1, partner_id, org_id, email, '{}', true, jsonb_build_object('userName', email), now(), now() FROM made
      RETURNING user_id, partner_id, org_id
    )
    INSERT INTO identity.scim_members (group_id, user_id, directory_id, partner_id, org_id)
    SELECT $3, user_id, $1, partner_id, org_id FROM provisioned`;
  await asDatabaseOwner(cluster, text, [directoryId, count, groupId]);
}
