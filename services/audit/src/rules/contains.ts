/** ILIKE pattern for "contains this text": `%`, `_` and `\` stand for themselves. */
export function containsPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}

/** Patterns for JSON as text: the search text, and its escaped form inside a JSON string where that differs. */
export function jsonPatterns(text: string): string[] {
  const escaped = JSON.stringify(text).slice(1, -1);
  return escaped === text ? [containsPattern(text)] : [containsPattern(text), containsPattern(escaped)];
}
