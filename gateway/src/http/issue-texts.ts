import type { z } from "zod";

type Issue = z.core.$ZodRawIssue;
type Final = z.core.$ZodIssue;

const kinds: Record<string, string> = {
  string: "Must be text",
  int: "Must be a whole number",
  number: "Must be a number",
  boolean: "Must be true or false",
  array: "Must be a list",
  tuple: "Must be a list",
  object: "Must be an object",
  record: "Must be an object",
};

const formats: Record<string, string> = {
  email: "Must be an e-mail address",
  url: "Must be a URL",
  guid: "Must be a UUID",
  uuid: "Must be a UUID",
  datetime: "Must be an ISO 8601 time",
  date: "Must be a date",
};

/** Placeholder for a bound until the schema that has the other bound is known. */
const bound = "\0bound";

/** Texts of invalid values in this API's terms, for schemas without a text of their own. */
export function issueText(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "Required";
      if (Array.isArray(issue.input) && issue.expected === "string") return "Must be one text";
      return kinds[issue.expected] ?? "Has a form that is not accepted";
    case "too_small":
    case "too_big":
      return bound;
    case "invalid_value":
      if (issue.input === undefined) return "Required";
      return issue.values.length === 1
        ? `Must be ${String(issue.values[0])}`
        : `One of ${issue.values.map(String).join(", ")}`;
    case "invalid_format":
      return formats[issue.format] ?? "Has a form that is not accepted";
    case "not_multiple_of":
      return `Must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return `Unknown: ${issue.keys.join(", ")}`;
    case "invalid_key":
      return "Has a name that is not accepted";
    case "custom":
      return "Not accepted";
    default:
      return "Has a form that is not accepted";
  }
}

/** The text of an invalid value, bounds with both ends: `1 to 255 characters`. */
export function finalText(issue: Final, schema: z.core.$ZodType): string {
  if (issue.message !== bound || (issue.code !== "too_small" && issue.code !== "too_big")) return issue.message;
  const found = schemaAt(schema, issue.path);
  const bounds = boundsOf(found);
  const least = bounds.least ?? (issue.code === "too_small" ? Number(issue.minimum) : undefined);
  const most = bounds.most ?? (issue.code === "too_big" ? Number(issue.maximum) : undefined);
  const unit = issue.origin === "string" ? "character" : issue.origin === "array" ? "item" : null;
  if (unit === null) return `A number ${rangeOf(least, most)}`;
  const range = least === 0 ? rangeOf(undefined, most) : rangeOf(least, most);
  const text = least === most ? String(least) : range.replace(/^from /, "");
  return `${text[0]?.toUpperCase()}${text.slice(1)} ${unit}${(most ?? least) === 1 ? "" : "s"}`;
}

/** What the checks of a schema bound: characters, items, or the number itself. */
function boundsOf(schema: z.core.$ZodType | null): { least?: number; most?: number } {
  const bounds: { least?: number; most?: number } = {};
  for (const { _zod } of schema?._zod.def.checks ?? []) {
    const { check, minimum, maximum, value } = _zod.def as {
      check: string;
      minimum?: number;
      maximum?: number;
      value?: number;
    };
    if (check === "min_length" && minimum !== undefined) bounds.least = minimum;
    if (check === "max_length" && maximum !== undefined) bounds.most = maximum;
    if (check === "greater_than" && value !== undefined) bounds.least = value;
    if (check === "less_than" && value !== undefined) bounds.most = value;
  }
  return bounds;
}

function rangeOf(least: number | undefined, most: number | undefined): string {
  if (least === undefined) return `at most ${most}`;
  return most === undefined ? `at least ${least}` : `from ${least} to ${most}`;
}

/** The schema of a value inside another; null where no single one is meant. */
function schemaAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType | null {
  const def = schema._zod.def as z.core.$ZodTypeDef & {
    innerType?: z.core.$ZodType;
    in?: z.core.$ZodType;
    shape?: Record<PropertyKey, z.core.$ZodType>;
    element?: z.core.$ZodType;
    valueType?: z.core.$ZodType;
  };
  const inner = def.innerType ?? (def.type === "pipe" ? def.in : undefined);
  if (inner) return schemaAt(inner, path);
  const [first, ...rest] = path;
  if (first === undefined) return schema;
  const next = def.shape?.[first] ?? def.element ?? def.valueType;
  return next ? schemaAt(next, rest) : null;
}
