/** How a list is sorted by a column; `inForce` is the name of its order, with a leading `-` when descending. */
export function sortedBy(column: string, inForce: string | undefined): "none" | "ascending" | "descending" {
  if (inForce === column) return "ascending";
  return inForce === `-${column}` ? "descending" : "none";
}

/** The order after another press on a column's title: ascending, descending, the list's own. */
export function nextSort(column: string, inForce: string | undefined): string | undefined {
  const next = { none: column, ascending: `-${column}`, descending: undefined };
  return next[sortedBy(column, inForce)];
}
