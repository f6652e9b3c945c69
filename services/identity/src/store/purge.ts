import { sql } from "@muster/db";
import { ownedBy, type PurgePlan, walked } from "@muster/service";

/**
 * A tenant's rows in identity: its keys, its devices' tokens, its users with all dependent rows (sessions, invitations,
 * second factors, passkeys), other users' grants in it, and its own roles, which are unassigned by then. The audit
 * trail, which names users, is in the audit service.
 */
export const purgePlan: PurgePlan = (_tx, tenant) => {
  const where = ownedBy(tenant);
  return [
    // Keys before the principals that they are of.
    { table: "api_keys", where },
    { table: "service_principals", where },
    { table: "enrollment_keys", where },
    { table: "agent_tokens", where, walk: walked },
    { table: "portal_links", where },
    { table: "directories", where },
    // Before users: a provider's login flows are deleted with it, and links with either.
    { table: "sso_providers", where },
    { table: "sso_domains", where },
    { table: "login_branding", where: tenant.kind === "partner" ? sql`partner_id = ${tenant.id}` : sql`false` },
    { table: "sign_in_policies", where },
    { table: "notification_lines", where },
    { table: "users", where },
    { table: "user_organizations", where, walk: walked },
    { table: "user_sites", where, walk: walked },
    { table: "roles", where: sql`${where} AND NOT EXISTS (SELECT FROM users u WHERE u.role_id = roles.id)` },
  ];
};
