import pg from "pg";
import { sqlPieces } from "./sql-text.ts";

export type RoleNames = { schema: string; owner: string; app: string; lookup: string };

/** Schema and roles of a service, as `deploy/sql/roles.sql` makes them. */
export function roleNames(service: string): RoleNames {
  const schema = service.replaceAll("-", "_");
  if (!/^[a-z][a-z0-9_]{0,40}$/.test(schema)) throw new TypeError(`not a service's name: ${service}`);
  return { schema, owner: `muster_${schema}_owner`, app: `muster_${schema}_app`, lookup: `muster_${schema}_lookup` };
}

/** Roles beside the application's that log in for one duty alone, by service. */
const duties: Readonly<Record<string, readonly string[]>> = { audit: ["pruner"] };

/** The role of each duty of a service: `muster_audit_pruner`. */
export function dutyRoles(service: string): Record<string, string> {
  const { schema } = roleNames(service);
  return Object.fromEntries((duties[service] ?? []).map((duty) => [duty, `muster_${schema}_${duty}`]));
}

/**
 * Runs roles.sql in the database of `client` (superuser), in one transaction, with psql's variables filled in. Throws
 * for a variable that was not given. Roles belong to the whole cluster: two runs at once in one cluster may collide.
 */
export async function applyRoles(
  client: pg.ClientBase,
  rolesSql: string,
  variables: Record<string, string>,
): Promise<void> {
  await client.query(expandVariables(rolesSql, variables));
}

// psql: :'name' a literal, :"name" an identifier; `::type` and array slices are not variables.
const variable = /(?<!:):$/;

/** Fills in psql's :'name' and :"name" where psql would: outside of strings, dollar quotes and comments. */
export function expandVariables(source: string, variables: Record<string, string>): string {
  const pieces = sqlPieces(source);
  return pieces
    .map((piece, index) => {
      const previous = pieces[index - 1];
      const isVariable = piece.kind === "quoted" && previous?.kind === "code" && variable.test(previous.text);
      if (isVariable && /^['"]\w+['"]$/.test(piece.text)) {
        const name = piece.text.slice(1, -1);
        const value = variables[name];
        if (value === undefined) throw new Error(`no value for the variable ${name}`);
        return piece.text.startsWith("'") ? pg.escapeLiteral(value) : pg.escapeIdentifier(value);
      }
      const next = pieces[index + 1];
      const beforeVariable =
        piece.kind === "code" && variable.test(piece.text) && /^['"]\w+['"]$/.test(next?.text ?? "");
      return beforeVariable ? piece.text.slice(0, -1) : piece.text;
    })
    .join("");
}
