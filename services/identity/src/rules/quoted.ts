/** What an identity provider sent, for a sentence to administrators: in quotes, and cut. */
export function quoted(...texts: readonly string[]): string {
  return texts
    .slice(0, 5)
    .map((text) => `"${[...text].slice(0, 200).join("")}"`)
    .join(", ");
}
