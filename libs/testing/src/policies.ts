import type pg from "pg";

/** One row-level policy, its condition by name where it is one of `conditions`, else as PostgreSQL shows it. */
export type Policy = { table: string; name: string; command: string; scope: string; check: string | null };

const scope = "(SELECT current_setting('app.scope', true))";
const uuidOf = (setting: string) => `(SELECT nullif(current_setting('${setting}', true), '')::uuid)`;
const uuidsOf = (setting: string) => `((SELECT nullif(current_setting('${setting}', true), '')::uuid[])::uuid[])`;
const granted = `(SELECT current_setting('app.org_access', true)) = 'all' OR org_id = ANY (${uuidsOf("app.org_ids")})`;

const inScopeOf = (partnersRows: string) => `
  ${scope} = 'system'
  OR (${scope} = 'partner' AND partner_id = ${uuidOf("app.partner_id")} AND (${partnersRows}))
  OR (${scope} = 'organization' AND org_id = ${uuidOf("app.org_id")})`;

/** What the conditions of policy_condition() must be: written a second time, so that an error in either is found. */
const conditions: Record<string, string> = {
  everyone: "true",
  nobody: "false",
  system: `${scope} = 'system'`,
  organization: inScopeOf(granted),
  tenant: inScopeOf(`org_id IS NULL OR ${granted}`),
  site: `(${inScopeOf(granted)}) AND ((SELECT coalesce(current_setting('app.site_ids', true), '')) = ''
         OR site_id = ANY (${uuidsOf("app.site_ids")}))`,
  person: `${scope} <> '' AND user_id::text = (SELECT current_setting('app.actor_id', true))`,
};

/** The policies of the owner's schema. */
export async function policiesOf(owner: pg.Client): Promise<Policy[]> {
  const names = await shownConditions(owner);
  const { rows } = await owner.query<{ table: string; name: string; cmd: string; using: string; check: string }>(`
    SELECT tablename AS table, policyname AS name, cmd, qual AS using, with_check AS check
    FROM pg_policies WHERE schemaname = current_schema() ORDER BY 1, 2`);
  const nameOf = (shown: string) => names.get(shown) ?? shown;
  return rows.map(({ table, name, cmd, using, check }) => ({
    table,
    name,
    command: cmd.toLowerCase(),
    scope: nameOf(using ?? check),
    check: using === null || check === null ? null : nameOf(check),
  }));
}

/** Each condition as PostgreSQL shows it, with its name. Nothing of it stays in the schema. */
async function shownConditions(owner: pg.Client): Promise<Map<string, string>> {
  await owner.query("BEGIN; CREATE TABLE shown (org_id uuid, partner_id uuid, site_id uuid, user_id uuid)");
  try {
    for (const [name, condition] of Object.entries(conditions)) {
      await owner.query(`CREATE POLICY ${name} ON shown USING (${condition})`);
    }
    const { rows } = await owner.query<{ name: string; using: string }>(`
      SELECT policyname AS name, qual AS using FROM pg_policies
      WHERE schemaname = current_schema() AND tablename = 'shown'`);
    return new Map(rows.map(({ name, using }) => [using, name]));
  } finally {
    await owner.query("ROLLBACK");
  }
}
