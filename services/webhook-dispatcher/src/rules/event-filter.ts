import { type FieldErrors, fieldsOf, isUuid } from "@muster/kit";

/** What `data` of an event must have to reach a webhook; a dimension without values is not asked for. */
export type EventFilter = {
  siteIds: readonly string[];
  groupIds: readonly string[];
  /** `name`, or `name=value`. */
  labels: readonly string[];
};

export const noFilter: EventFilter = { siteIds: [], groupIds: [], labels: [] };

const dimensions = ["siteIds", "groupIds", "labels"] as const;
const maxValues = 100;
const maxLabelLength = 200;

/**
 * A filter as users set it, null when it has no values at all: that is none. Adds an error for each dimension that
 * cannot be stored.
 */
export function filterOf(input: EventFilter | undefined, errors: FieldErrors): EventFilter | null {
  if (!input) return null;
  const filter = { ...noFilter };
  for (const name of dimensions) {
    const values = [...new Set(input[name].map((each) => (name === "labels" ? each.trim() : each.toLowerCase())))];
    const isValid = (each: string) => (name === "labels" ? each !== "" && each.length <= maxLabelLength : isUuid(each));
    if (values.length > maxValues) errors[`filter.${name}`] = [`At most ${maxValues}`];
    for (const [index, each] of input[name].entries()) {
      if (isValid(each.trim())) continue;
      errors[`filter.${name}.${index}`] = [name === "labels" ? `1 to ${maxLabelLength} characters` : "Must be a UUID"];
    }
    filter[name] = values;
  }
  return dimensions.some((name) => filter[name].length > 0) ? filter : null;
}

/**
 * Whether an event passes: of each dimension that the filter names, `data` has one of the values. An event without that
 * dimension does not pass.
 */
export function passes(filter: EventFilter, dataJson: string): boolean {
  const { siteId, groupIds, labels } = fieldsOf(JSON.parse(dataJson));
  return (
    isAmong(filter.siteIds, textsOf(siteId)) &&
    isAmong(filter.groupIds, textsOf(groupIds)) &&
    isAmong(filter.labels, labelsOf(labels))
  );
}

const isAmong = (wanted: readonly string[], found: readonly string[]): boolean =>
  wanted.length === 0 || found.some((each) => wanted.includes(each));

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((each) => (typeof each === "string" ? [each.toLowerCase()] : []));

/** Labels are an object of texts, as those of devices, or a list of texts. What is neither has no text. */
function labelsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.filter((each) => typeof each === "string");
  return Object.entries(fieldsOf(value)).flatMap(([name, each]) =>
    typeof each === "object" && each !== null ? [name] : [name, `${name}=${String(each)}`],
  );
}
