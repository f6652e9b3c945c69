/**
 * Distinct texts that are prepared; later ones are parsed each time. Texts are written in our source, so they are few.
 */
const most = 1_000;
const names = new Map<string, string>();

/**
 * The name under which a text is prepared on each connection, so that PostgreSQL parses it once and may keep its plan
 * (row-level security makes planning dear: docs/decisions/0006). Undefined when there are too many texts already.
 */
export function statementName(text: string): string | undefined {
  const cached = names.get(text);
  if (cached !== undefined || names.size >= most) return cached;
  const name = `m${names.size + 1}`;
  names.set(text, name);
  return name;
}
