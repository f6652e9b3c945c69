let listed: readonly string[] = [];

/** Remembers the rows of the list that was looked at last, in their order. */
export function noteListed(ids: readonly string[]): void {
  listed = ids;
}

/** The rows above and below one of that list; undefined where there is none. */
export function besideInList(id: string): readonly [above: string | undefined, below: string | undefined] {
  const at = listed.indexOf(id);
  return at < 0 ? [undefined, undefined] : [listed[at - 1], listed[at + 1]];
}
