import { createHash } from "node:crypto";

/** Of the run (`npm test` prints it); null where suites run in full. */
export const seed: string | null = process.env.TEST_SEED || null;

/**
 * One in `oneIn` of the items by the run's seed, and more where a stratum would be missing: each name that `strataOf`
 * returns for any item is met by an item of the sample. All items where suites run in full.
 */
export function sampleOf<T>(
  items: readonly T[],
  oneIn: number,
  strataOf: (item: T) => readonly string[],
  by: string | null = seed,
): T[] {
  if (by === null) return [...items];
  const order = items
    .map((item, at) => ({ item, at, rank: rankOf(by, at) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const wanted = Math.ceil(items.length / oneIn);
  const met = new Set<string>();
  const chosen: typeof order = [];
  // First those that meet something new, so that as few as possible are beyond the share.
  const others = order.filter((one) => {
    const isNew = strataOf(one.item).some((stratum) => !met.has(stratum));
    if (isNew) chosen.push(one);
    for (const stratum of isNew ? strataOf(one.item) : []) met.add(stratum);
    return !isNew;
  });
  chosen.push(...others.slice(0, Math.max(0, wanted - chosen.length)));
  return chosen.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

const rankOf = (by: string, at: number) => createHash("sha1").update(`${by} ${at}`).digest("hex");
