import { hasFields } from "@muster/kit";
import { valueAt } from "./document.ts";
import type { Filter, FilterValue } from "./filter.ts";

/** Whether one value of a list attribute matches a filter on its parts. Texts are compared without case. */
export function matchesValue(filter: Filter, value: unknown): boolean {
  switch (filter.kind) {
    case "and":
      return filter.of.every((one) => matchesValue(one, value));
    case "or":
      return filter.of.some((one) => matchesValue(one, value));
    case "not":
      return !matchesValue(filter.of, value);
    case "present": {
      const found = partOf(value, filter.path.name);
      return found !== undefined && found !== null && found !== "";
    }
    case "compare":
      return compares(partOf(value, filter.path.name), filter.operator, filter.value);
    case "values":
      return false;
    default:
      return filter satisfies never;
  }
}

const partOf = (value: unknown, name: string): unknown => (hasFields(value) ? valueAt(value, name) : undefined);

/** Case aside, and with "True" as true: clients write both. */
const comparable = (value: unknown): string | null =>
  value === undefined || value === null ? null : String(value).toLowerCase();

function compares(found: unknown, operator: string, wanted: FilterValue): boolean {
  const [left, right] = [comparable(found), comparable(wanted)];
  if (operator === "eq") return left === right;
  if (operator === "ne") return left !== right;
  if (left === null || right === null) return false;
  switch (operator) {
    case "co":
      return left.includes(right);
    case "sw":
      return left.startsWith(right);
    case "ew":
      return left.endsWith(right);
    case "gt":
      return left > right;
    case "ge":
      return left >= right;
    case "lt":
      return left < right;
    default:
      return left <= right;
  }
}

/**
 * `type eq "work"`, alone or joined by `and`, as the values that a new value of the list has. Null for anything else.
 */
export function equalities(filter: Filter): Record<string, FilterValue> | null {
  if (filter.kind === "compare" && filter.operator === "eq" && filter.path.sub === null) {
    return { [filter.path.name]: filter.value };
  }
  if (filter.kind !== "and") return null;
  const parts = filter.of.map(equalities);
  return parts.some((part) => part === null) ? null : Object.assign({}, ...parts);
}
