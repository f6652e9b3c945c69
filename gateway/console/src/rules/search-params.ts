/**
 * Search parameters as plain texts: the API's own names and values, nothing parsed. The last of a repeated name counts.
 */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Leaves out empty filters; the same filters always make the same address. */
export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(search)
    .filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length > 0 ? `?${new URLSearchParams(entries)}` : "";
}
