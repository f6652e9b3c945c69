import { type Database, isUniqueViolation, type Query, sql, type Tx } from "@muster/db";
import { type CallContext, type Caller, decodeCursor, type Page, type Scope, systemCaller, uuidv7 } from "@muster/kit";
import { type ListPage, type OrderedList, readListPage } from "@muster/service";
import type { ClaimedAddress } from "../rules/address-owner.ts";
import type { SeededRole } from "../rules/catalogue.ts";
import { type NewRole, nameTaken } from "../rules/role.ts";

/** Writes the seeded roles as the catalogue has them now; users of a changed role get a new version. */
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
  { email, proof }: ClaimedAddress,
  user: { id: string; name: string; passwordHash: string },
  now: Date,
): Promise<boolean> {
  const inserted = await tx.execute(sql`
    INSERT INTO users (id, email, email_proof, name, scope, role_id, org_access, password_hash, status, created_at,
                       updated_at)
    SELECT ${user.id}, ${email}, ${proof}, ${user.name}, 'system', r.id, 'all', ${user.passwordHash}, 'active', ${now}, ${now}
    FROM roles r
    WHERE r.key = 'platform-admin' AND NOT EXISTS (SELECT FROM users u WHERE u.scope = 'system')`);
  return inserted === 1;
}

/** Whether the platform has an administrator. */
export async function hasAdministrator(tx: Tx): Promise<boolean> {
  const rows = await tx.query(sql`SELECT 1 FROM users WHERE scope = 'system' LIMIT 1`);
  return rows.length > 0;
}

export type RoleRow = {
  id: string;
  key: string | null;
  name: string;
  description: string;
  scope: Scope;
  permissions: string[];
  partner_id: string | null;
  org_id: string | null;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`t.id, t.key, t.name, t.description, t.scope, t.permissions, t.partner_id, t.org_id, t.created_at,
  t.updated_at`;

export type RoleFilter = { partnerId: string | null; orgId: string | null; scope: string | null };

/** A page of the roles that the caller can see and assign, seeded ones first, then by name (index roles_by_name). */
export async function listRoles(
  db: Database,
  who: CallContext,
  { partnerId, orgId, scope }: RoleFilter,
  page: Page,
): Promise<ListPage<RoleRow>> {
  const all: Query[] = [
    visibleTo(who.caller),
    ...(partnerId === null ? [] : [sql`t.partner_id = ${partnerId}`]),
    ...(orgId === null ? [] : [sql`t.org_id = ${orgId}`]),
    ...(scope === null ? [] : [sql`t.scope = ${scope}`]),
  ];
  const wanted = all.reduce((before, next) => sql`${before} AND ${next}`);
  const list: OrderedList<RoleRow> = {
    table: sql`roles`,
    columns,
    wanted,
    order: sql`(t.key IS NULL), t.name, t.id`,
    position: (row) => [row.key === null, row.name, row.id],
    after: afterPosition,
  };
  return readListPage(db, who, list, page);
}

/** One of those, or null. */
export async function findRole(db: Database, who: CallContext, id: string): Promise<RoleRow | null> {
  const [row] = await db.read<RoleRow>(who, oneOf(who.caller, id));
  return row ?? null;
}

/** Reads the role within a transaction. */
export async function readRole(tx: Tx, caller: Caller, id: string): Promise<RoleRow | null> {
  const [row] = await tx.query<RoleRow>(oneOf(caller, id));
  return row ?? null;
}

/** Id of a seeded role, or null. */
export async function seededRoleId(db: Database, who: CallContext, key: string): Promise<string | null> {
  const [row] = await db.read<{ id: string }>(who, sql`SELECT id FROM roles WHERE key = ${key}`);
  return row?.id ?? null;
}

/** Inserts a role. Throws `name_taken`. */
export async function insertRole(tx: Tx, id: string, role: NewRole, now: Date): Promise<RoleRow> {
  try {
    const [row] = await tx.query<RoleRow>(sql`
      INSERT INTO roles AS t (id, name, description, scope, partner_id, org_id, permissions, created_at, updated_at)
      VALUES (${id}, ${role.name}, ${role.description}, ${role.scope}, ${role.partnerId}, ${role.orgId},
              ${[...role.permissions]}::text[], ${now}, ${now})
      RETURNING ${columns}`);
    return row as RoleRow;
  } catch (error) {
    throw isNameTaken(error) ? nameTaken() : error;
  }
}

/** Custom roles of a partner, or of an organization. */
export async function countRoles(tx: Tx, { partnerId, orgId }: Pick<NewRole, "partnerId" | "orgId">): Promise<number> {
  const owned = orgId === null ? sql`partner_id = ${partnerId} AND org_id IS NULL` : sql`org_id = ${orgId}`;
  const [row] = await tx.query<{ n: number }>(sql`SELECT count(*) AS n FROM roles WHERE ${owned}`);
  return Number(row?.n ?? 0);
}

/** Writes a custom role's fields. Throws `name_taken`. */
export async function updateRole(
  tx: Tx,
  id: string,
  role: Pick<RoleRow, "name" | "description"> & { permissions: readonly string[] },
  now: Date,
): Promise<RoleRow> {
  try {
    const [row] = await tx.query<RoleRow>(sql`
      UPDATE roles t SET name = ${role.name}, description = ${role.description},
        permissions = ${[...role.permissions]}::text[], updated_at = ${now}
      WHERE t.id = ${id} AND t.key IS NULL RETURNING ${columns}`);
    if (!row) throw new Error("a role that was checked has gone");
    return row;
  } catch (error) {
    throw isNameTaken(error) ? nameTaken() : error;
  }
}

/** Removes an unassigned custom role; false when a user has it. */
export async function deleteRole(tx: Tx, id: string): Promise<boolean> {
  const removed = await tx.execute(sql`
    DELETE FROM roles t WHERE t.id = ${id} AND t.key IS NULL AND NOT EXISTS (SELECT FROM users u WHERE u.role_id = t.id)`);
  return removed === 1;
}

const isNameTaken = (error: unknown) =>
  isUniqueViolation(error, "roles_name_of_partner") || isUniqueViolation(error, "roles_name_of_organization");

/** Scopes of the roles that a caller can see and assign: none above the caller's own. */
function assignableScopes({ scope }: Caller): Scope[] {
  if (scope === "system") return ["system", "partner", "organization"];
  return scope === "partner" ? ["partner", "organization"] : ["organization"];
}

const oneOf = (caller: Caller, id: string) =>
  sql`SELECT ${columns} FROM roles t WHERE t.id = ${id} AND ${visibleTo(caller)}`;

/** The query's own wall beside row-level security. */
function visibleTo(caller: Caller): Query {
  const scopes = sql`t.scope = ANY (${assignableScopes(caller)}::text[])`;
  if (caller.scope === "system") return scopes;
  const own =
    caller.scope === "organization"
      ? sql`t.org_id = ${caller.orgId} OR (t.org_id IS NULL AND t.partner_id = ${caller.partnerId})`
      : caller.orgAccess.mode === "all"
        ? sql`t.partner_id = ${caller.partnerId}`
        : sql`t.partner_id = ${caller.partnerId}
            AND (t.org_id IS NULL OR t.org_id = ANY (${[...caller.orgAccess.orgIds]}::uuid[]))`;
  return sql`${scopes} AND (t.key IS NOT NULL OR (${own}))`;
}

function afterPosition(cursor: string): Query {
  const [isCustom, name, id] = decodeCursor(cursor, ["flag", "text", "uuid"]);
  return sql`((t.key IS NULL), t.name, t.id) > (${isCustom}, ${name}, ${id}::uuid)`;
}
