export type Change = { field: string; before: unknown; after: unknown };

type Json = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Which fields differ between two states of a record, by dotted path; a field that is absent on one side is undefined
 * there.
 */
export function changesOf(before: Json, after: Json, prefix = ""): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    const field = `${prefix}${name}`;
    if (isRecord(was) && isRecord(is)) return changesOf(was, is, `${field}.`);
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [{ field, before: was, after: is }];
  });
}
