/** What a text of a form says as JSON: an object, or nothing where the text is empty; else why it is none. */
export function jsonObjectOf(text: string): { value: Record<string, unknown> | null } | { problem: string } {
  if (text.trim() === "") return { value: null };
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { problem: `This is no JSON: ${error instanceof Error ? error.message : "it cannot be read"}.` };
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return { problem: "This must be a JSON object: it begins with { and ends with }." };
  }
  return { value: { ...parsed } };
}

/** The same, indented, for a field in which it is changed. */
export const jsonText = (value: object | null): string => (value === null ? "" : JSON.stringify(value, null, 2));
