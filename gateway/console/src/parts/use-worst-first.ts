import { useMemo, useRef } from "react";
import { type Tone, worstFirst } from "../rules/tone.ts";

/** Rows that an answer of the API holds at most: a longer list keeps its order, or rows would move while it is read. */
const pageRows = 100;

/**
 * The failing rows of a whole list first, as they were when it got its rows: nothing moves under the pointer when a
 * later answer says otherwise. Without `toneOf` the rows as they are.
 */
export function useWorstFirst<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  toneOf: ((row: Row) => Tone) | undefined,
): readonly Row[] {
  const ranked = useRef<{ keys: string; order: readonly string[] }>({ keys: "", order: [] });
  return useMemo(() => {
    if (!toneOf || rows.length > pageRows) return rows;
    const keys = rows.map(keyOf).sort().join();
    if (ranked.current.keys !== keys) ranked.current = { keys, order: worstFirst(rows, toneOf).map(keyOf) };
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    return ranked.current.order.flatMap((key) => byKey.get(key) ?? []);
  }, [rows, keyOf, toneOf]);
}
