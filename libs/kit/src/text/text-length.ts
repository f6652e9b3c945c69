/**
 * Whether a text has more than `most` characters: code points, as PostgreSQL and the OpenAPI document count them. An
 * emoji is one, though it has two UTF-16 units.
 */
export function longerThan(text: string, most: number): boolean {
  // Units first: nearly all texts are far below their bound, and counting costs.
  return text.length > most && [...text].length > most;
}
