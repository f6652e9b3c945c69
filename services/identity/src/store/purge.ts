import { sql } from "@muster/db";
import { ownedBy, type PurgePlan, walked } from "@muster/service";

/**
 * What a tenant has here: its keys, its devices' tokens, its people with all that hangs on them (sessions, invitations, second factors,
 * passkeys), what others were granted in it, and its own roles, which nobody holds by then. What names people in the audit trail is there.
 */
export const purgePlan: PurgePlan = (_tx, tenant) => {
  const where = ownedBy(tenant);
  return [
    // Keys before the principals that they are of.
    { table: "api_keys", where },
    { table: "service_principals", where },
    { table: "enrollment_keys", where },
    { table: "agent_tokens", where, walk: walked },
    // Before people: what a provider hands out goes with it, links with either.
    { table: "sso_providers", where },
    { table: "sso_domains", where },
    { table: "login_branding", where: tenant.kind === "partner" ? sql`partner_id = ${tenant.id}` : sql`false` },
    { table: "users", where },
    { table: "user_organizations", where, walk: walked },
    { table: "user_sites", where, walk: walked },
    { table: "roles", where: sql`${where} AND NOT EXISTS (SELECT FROM users u WHERE u.role_id = roles.id)` },
  ];
};
