import { sql, type Tx } from "@muster/db";
import type { ClaimedAddress, Proof, Tenant } from "../../rules/address-owner.ts";

/** An account as a directory changes it. */
export type AccountRow = {
  id: string;
  email: string;
  email_proof: Proof | null;
  name: string;
  department: string | null;
  partner_id: string | null;
  org_id: string | null;
  status: string;
  isManaged: boolean;
};

const columns = sql`u.id, u.email, u.email_proof, u.name, u.department, u.partner_id, u.org_id, u.status,
  EXISTS (SELECT FROM scim_users s WHERE s.user_id = u.id) AS "isManaged"`;

/** The account of a tenant with an address, locked. Who has the address is looked up past row-level security. */
export async function findAccount(tx: Tx, { partnerId, orgId }: Tenant, email: string): Promise<AccountRow | null> {
  const [row] = await tx.query<AccountRow>(sql`
    SELECT ${columns} FROM users u
    WHERE coalesce(u.org_id, u.partner_id, '00000000-0000-0000-0000-000000000000') = ${orgId ?? partnerId}::uuid
      AND u.id = ANY (ARRAY(SELECT user_id FROM find_email_holders(${email}))) FOR UPDATE OF u`);
  return row ?? null;
}

export async function lockAccount(tx: Tx, id: string): Promise<AccountRow | null> {
  const [row] = await tx.query<AccountRow>(sql`SELECT ${columns} FROM users u WHERE u.id = ${id} FOR UPDATE OF u`);
  return row ?? null;
}

/** The least seeded role of a scope, for accounts that have no access. */
const leastRole = { organization: "org-viewer", partner: "partner-technician" } as const;

/**
 * Makes an account without a password; without a role it is disabled, with the least one, until a mapping gives
 * another. Returns role and status.
 */
export async function insertDirectoryUser(
  tx: Tx,
  id: string,
  { email, proof }: ClaimedAddress,
  user: { name: string; department: string | null; active: boolean; tenant: Tenant; roleId: string | null },
  now: Date,
): Promise<{ roleId: string; role: string; status: string }> {
  const { tenant, roleId } = user;
  const scope = tenant.orgId === null ? "partner" : "organization";
  const role = roleId === null ? sql`(SELECT id FROM roles WHERE key = ${leastRole[scope]})` : sql`${roleId}::uuid`;
  const status = user.active && roleId !== null ? "active" : "disabled";
  const [row] = await tx.query<{ role_id: string; role: string }>(sql`
    INSERT INTO users (id, email, email_proof, name, department, scope, partner_id, org_id, role_id, org_access, status,
                       created_at, updated_at)
    VALUES (${id}, ${email}, ${proof}, ${user.name}, ${user.department}, ${scope}, ${tenant.partnerId}, ${tenant.orgId},
            ${role}, ${scope === "partner" ? "all" : "none"}, ${status}, ${now}, ${now})
    RETURNING role_id, (SELECT coalesce(key, name) FROM roles WHERE id = role_id) AS role`);
  if (!row) throw new Error("a user was not stored");
  return { roleId: row.role_id, role: row.role, status };
}

/** Writes address, name and department of a locked account; links to an old address open nothing. */
export async function writeAccount(
  tx: Tx,
  id: string,
  a: { email: string; proof: Proof | null; name: string; department: string | null },
  now: Date,
): Promise<number> {
  const [row] = await tx.query<{ version: number; is_moved: boolean }>(sql`
    UPDATE users u SET email = ${a.email}, email_proof = ${a.proof}, name = ${a.name}, department = ${a.department},
      version = u.version + 1, updated_at = ${now}
    FROM users b WHERE b.id = u.id AND u.id = ${id} RETURNING u.version, b.email <> u.email AS is_moved`);
  if (!row) throw new Error("a user that was locked has gone");
  if (row.is_moved) {
    await tx.execute(sql`UPDATE password_resets SET used_at = ${now} WHERE user_id = ${id} AND used_at IS NULL`);
  }
  return row.version;
}
