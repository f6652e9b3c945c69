import { type Database, sql, type Tx } from "@muster/db";
import { type CallContext, type Caller, type Scope, systemCaller, uuidv7 } from "@muster/kit";
import type { SeededRole } from "../rules/catalogue.ts";

/** Writes the seeded roles as the catalogue has them now; people of a changed role get a new version. */
export async function seedRoles(db: Database, roles: readonly SeededRole[], now: Date): Promise<void> {
  await db.tx({ caller: systemCaller("identity") }, async (tx) => {
    // One replica seeds at a time.
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtext('identity.seed_roles'))`);
    for (const role of roles) {
      await tx.execute(sql`
        WITH changed AS (
          INSERT INTO roles (id, key, name, scope, permissions, created_at, updated_at)
          VALUES (${uuidv7()}, ${role.key}, ${role.name}, ${role.scope}, ${[...role.permissions]}, ${now}, ${now})
          ON CONFLICT (key) DO UPDATE
          SET name = excluded.name, permissions = excluded.permissions, updated_at = excluded.updated_at
          WHERE roles.permissions IS DISTINCT FROM excluded.permissions OR roles.name <> excluded.name
          RETURNING id
        )
        UPDATE users SET version = version + 1 WHERE role_id IN (SELECT id FROM changed)`);
    }
  });
}

/** Inserts a platform administrator unless there is one; false when there was. */
export async function insertFirstAdministrator(
  tx: Tx,
  user: { id: string; email: string; name: string; passwordHash: string },
  now: Date,
): Promise<boolean> {
  const inserted = await tx.execute(sql`
    INSERT INTO users (id, email, name, scope, role_id, org_access, password_hash, status, created_at, updated_at)
    SELECT ${user.id}, ${user.email}, ${user.name}, 'system', r.id, 'all', ${user.passwordHash}, 'active', ${now}, ${now}
    FROM roles r
    WHERE r.key = 'platform-admin' AND NOT EXISTS (SELECT FROM users u WHERE u.scope = 'system')`);
  return inserted === 1;
}

/** Whether anybody administers the platform yet. */
export async function hasAdministrator(tx: Tx): Promise<boolean> {
  const rows = await tx.query(sql`SELECT 1 FROM users WHERE scope = 'system' LIMIT 1`);
  return rows.length > 0;
}

export type RoleRow = {
  id: string;
  key: string | null;
  name: string;
  scope: Scope;
  permissions: string[];
  partner_id: string | null;
  org_id: string | null;
};

const maxRoles = 500;

/** Scopes of the roles that a caller sees and may give: none above their own. */
function assignableScopes({ scope }: Caller): Scope[] {
  if (scope === "system") return ["system", "partner", "organization"];
  return scope === "partner" ? ["partner", "organization"] : ["organization"];
}

/** The seeded roles and the caller's own, seeded ones first. */
export function listAssignableRoles(db: Database, who: CallContext): Promise<RoleRow[]> {
  return db.read<RoleRow>(
    who,
    sql`
      SELECT id, key, name, scope, permissions, partner_id, org_id FROM roles
      WHERE scope = ANY (${assignableScopes(who.caller)}::text[])
      ORDER BY key IS NULL, array_position(ARRAY['system', 'partner', 'organization'], scope), name, id
      LIMIT ${maxRoles}`,
  );
}

/** One of those, or null. */
export async function findRole(db: Database, who: CallContext, id: string): Promise<RoleRow | null> {
  const [row] = await db.read<RoleRow>(
    who,
    sql`
      SELECT id, key, name, scope, permissions, partner_id, org_id FROM roles
      WHERE id = ${id} AND scope = ANY (${assignableScopes(who.caller)}::text[])`,
  );
  return row ?? null;
}
