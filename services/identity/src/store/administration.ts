import { sql, type Tx } from "@muster/db";
import type { Scope } from "@muster/kit";
import { grantable } from "../rules/catalogue.ts";
import type { Administration } from "../rules/delegation.ts";

/**
 * Locks the users and roles of this partner (null: the platform's own) until the end of the transaction; when a
 * platform user acts, the platform's own as well. The platform is locked first, which prevents deadlocks.
 */
export async function lockAdministration(tx: Tx, actingScope: Scope, partnerId: string | null): Promise<void> {
  if (partnerId !== null && actingScope === "system") {
    await tx.query(sql`SELECT pg_advisory_xact_lock_shared(hashtextextended(${nameOf(null)}, 0))`);
  }
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${nameOf(partnerId)}, 0))`);
}

const nameOf = (partnerId: string | null) => `identity.administration/${partnerId ?? "platform"}`;

/** Full administrators of a partner, or of the platform, without one user or the holders of one role. */
export async function otherAdministrators(
  tx: Tx,
  { scope, partnerId }: { scope: Scope; partnerId: string | null },
  except: { userId: string } | { roleId: string },
): Promise<Administration> {
  const [row] = await tx.query<Administration>(sql`
    SELECT coalesce(bool_or(true), false) AS "any",
           coalesce(bool_or(u.scope = 'system' OR u.org_access = 'all'), false) AS "ofAll"
    FROM users u JOIN roles r ON r.id = u.role_id
    WHERE u.scope = ${scope} AND u.org_id IS NULL AND u.status = 'active' AND NOT u.site_restricted
      AND ${partnerId === null ? sql`u.partner_id IS NULL` : sql`u.partner_id = ${partnerId}`}
      AND r.permissions @> ${[...grantable(scope)]}::text[]
      AND ${"userId" in except ? sql`u.id <> ${except.userId}` : sql`u.role_id <> ${except.roleId}`}`);
  return row ?? { any: false, ofAll: false };
}

/** Which of them the holders of one role are, by everything but the role. */
export async function holdersOfRole(tx: Tx, roleId: string): Promise<Administration & { users: number }> {
  const [row] = await tx.query<Administration & { users: number }>(sql`
    SELECT count(*)::integer AS users,
           coalesce(bool_or(u.status = 'active' AND NOT u.site_restricted), false) AS "any",
           coalesce(bool_or(u.status = 'active' AND NOT u.site_restricted AND u.org_access = 'all'), false) AS "ofAll"
    FROM users u WHERE u.role_id = ${roleId}`);
  return row ?? { users: 0, any: false, ofAll: false };
}
