type Toggle = {
  /** Of all rows, in their order. */
  keys: readonly string[];
  chosen: ReadonlySet<string>;
  key: string;
  /** The row that was toggled before, for a range from it to this one; null for this one alone. */
  from: string | null;
};

/** The selection after a row was toggled: all rows of a range get the state that this one gets. */
export function toggled({ keys, chosen, key, from }: Toggle): ReadonlySet<string> {
  const after = new Set(chosen);
  const ends = from === null ? [] : [keys.indexOf(from), keys.indexOf(key)].filter((at) => at >= 0);
  const range = ends.length === 2 ? keys.slice(Math.min(...ends), Math.max(...ends) + 1) : [key];
  for (const each of range) {
    if (chosen.has(key)) after.delete(each);
    else after.add(each);
  }
  return after;
}
