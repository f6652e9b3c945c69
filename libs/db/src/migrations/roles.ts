import pg from "pg";
import { sqlPieces } from "./sql-text.ts";

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
