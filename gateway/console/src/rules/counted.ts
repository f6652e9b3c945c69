const irregular: ReadonlyMap<string, string> = new Map([["people", "person"]]);

/** One record of a kind that is named in the plural. */
const singular = (plural: string): string =>
  irregular.get(plural) ?? (plural.endsWith("ies") ? `${plural.slice(0, -3)}y` : plural.replace(/s$/, ""));

/** A number of records in words: "1 webhook", "1,200 devices". */
export const counted = (count: number, plural: string): string =>
  `${count.toLocaleString()} ${count === 1 ? singular(plural) : plural}`;
