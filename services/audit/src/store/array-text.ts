/**
 * Arrays as PostgreSQL reads them in text, made in one go: the client escapes every element twice over, which was a
 * tenth of what sealing costs (npm run bench -- audit-seal).
 */

/** An array of what needs no quotes: UUIDs, hex, numbers, times. Never for text of users. */
export function plainArray(values: readonly (string | number | null)[]): string {
  let text = "{";
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text += ",";
    text += values[i] ?? "NULL";
  }
  return `${text}}`;
}

/** An array of one cell of each line: plain values and such as went through `quoted`. */
export function arrayOf(lines: readonly (readonly (string | number | null)[])[], column: number): string {
  if (lines.length === 0) return "{}";
  const elements = new Array<string | number>(lines.length);
  for (let i = 0; i < lines.length; i++) elements[i] = lines[i]?.[column] ?? "NULL";
  // Braces around the joined text would make a second text of it when it is sent.
  elements[0] = `{${elements[0]}`;
  elements[lines.length - 1] += "}";
  return elements.join(",");
}

/** Any text as an element of an array; null is NULL. */
export function quoted(value: string | null): string {
  if (value === null) return "NULL";
  const slashed = value.includes("\\") ? value.replace(/\\/g, "\\\\") : value;
  return slashed.includes('"') ? `"${slashed.replace(/"/g, '\\"')}"` : `"${slashed}"`;
}
