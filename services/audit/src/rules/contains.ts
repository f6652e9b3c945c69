/** ILIKE pattern for "contains this text": `%`, `_` and `\` stand for themselves. */
export function containsPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}

/** Patterns for JSON as text: what was typed, and the same as it stands inside a JSON string where that differs. */
export function jsonPatterns(text: string): string[] {
  const escaped = JSON.stringify(text).slice(1, -1);
  return escaped === text ? [containsPattern(text)] : [containsPattern(text), containsPattern(escaped)];
}
