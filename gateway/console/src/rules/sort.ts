type Sorted = "none" | "ascending" | "descending";

/**
 * How a list is sorted by a column; `inForce` is the name of its order, with a leading `-` when descending. A column
 * that names a direction has this one alone.
 */
export function sortedBy(column: string, inForce: string | undefined): Sorted {
  if (inForce === column) return column.startsWith("-") ? "descending" : "ascending";
  return inForce === `-${column}` ? "descending" : "none";
}

/** The order after a press on a column's title: ascending, descending, the list's own; or the column's only one. */
export function nextSort(column: string, inForce: string | undefined, isOneWay = false): string | undefined {
  if (isOneWay) return column;
  const next = { none: column, ascending: `-${column}`, descending: undefined };
  return next[sortedBy(column, inForce)];
}
