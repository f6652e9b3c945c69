import { isDeepStrictEqual } from "node:util";

type Values = Readonly<Record<string, unknown>>;

/** The details of an update's audit row: names of the fields that differ, and their values before and after. */
export type Changes = { changedFields: string[]; changes: { before: Values; after: Values } };

/** What differs in the fields of `after`. */
export function changesBetween(before: Values, after: Values): Changes {
  const changedFields = Object.keys(after).filter((field) => !isDeepStrictEqual(before[field], after[field]));
  const only = (of: Values) => Object.fromEntries(changedFields.map((field) => [field, of[field]]));
  return { changedFields, changes: { before: only(before), after: only(after) } };
}
