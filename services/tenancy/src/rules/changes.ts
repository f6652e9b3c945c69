import { isDeepStrictEqual } from "node:util";
import { fieldsOf, hasFields } from "@muster/kit";

type Values = Readonly<Record<string, unknown>>;

/** The details of an update's audit row: names of the differing fields, and their values before and after. */
export type Changes = { changedFields: string[]; changes: { before: Values; after: Values } };

/** Fields that differ; of `settings` only the keys that differ. */
export function changesBetween(before: Values, after: Values): Changes {
  const differing = keysThatDiffer(before, after);
  const narrowed = (of: Values, other: Values) =>
    Object.fromEntries(
      differing.map((field) => {
        const value = of[field];
        if (field !== "settings" || !hasFields(value)) return [field, value];
        const keys = keysThatDiffer(value, fieldsOf(other[field]));
        return [
          field,
          Object.fromEntries(keys.filter((key) => Object.hasOwn(value, key)).map((key) => [key, value[key]])),
        ];
      }),
    );
  return { changedFields: differing, changes: { before: narrowed(before, after), after: narrowed(after, before) } };
}

function keysThatDiffer(before: Values, after: Values): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => !isDeepStrictEqual(before[key], after[key]));
}
