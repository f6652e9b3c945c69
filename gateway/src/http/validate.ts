import { AppError, type ErrorCode, type FieldErrors, validationError } from "@muster/kit";
import type { z } from "zod";
import type { Route } from "../route.ts";
import { finalText, textOf } from "./words.ts";

/** What a schema's own check may report of its fault: a code other than `validation_failed`, and public facts. */
export type CodedFault = { code: ErrorCode; text: string; facts: Record<string, unknown> };

/** One thing wrong with the input: its dotted path (empty for the whole), a text, and the code it has by itself. */
type Fault = { path: string; text: string; coded?: CodedFault | undefined };

/**
 * Parsed input. Throws AppError `validation_failed` with one text per fault, all of them, by dotted field path; the
 * fault's own code when a check names one and nothing else is wrong (docs/behaviour.md#errors).
 */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const { data, faults } = parse(schema, input);
  if (faults.length > 0) throw refusalOf(faults);
  return data as z.output<S>;
}

function parse(schema: z.ZodType, input: unknown): { data: unknown; faults: readonly Fault[] } {
  const parsed = schema.safeParse(input, { error: textOf });
  if (parsed.success) return { data: parsed.data, faults: [] };
  const faults = parsed.error.issues.map((issue) => ({
    path: issue.path.map(String).join("."),
    text: finalText(issue, schema),
    coded: issue.code === "custom" ? (issue.params as CodedFault | undefined) : undefined,
  }));
  return { data: undefined, faults };
}

function refusalOf(faults: readonly Fault[]): AppError {
  // A map: a field may have a name that every object has.
  const texts = new Map<string, string[]>();
  for (const { path, text } of faults) {
    const known = texts.get(path) ?? [];
    if (!known.includes(text)) texts.set(path, [...known, text]);
  }
  const formErrors = texts.get("") ?? [];
  texts.delete("");
  const fieldErrors: FieldErrors = Object.fromEntries(texts);
  const first = faults[0]?.coded;
  if (first?.code === undefined || faults.some(({ coded }) => coded?.code !== first.code)) {
    return validationError(fieldErrors, formErrors);
  }
  return new AppError(first.code, first.text, { facts: { ...first.facts, details: { formErrors, fieldErrors } } });
}

type Parameterised = Pick<Route, "access" | "body" | "query">;

/** Unknown parameters that one answer names. */
const maxNamed = 20;

/**
 * The query as its route accepts it. Throws as `validate` does, and `unknown_parameter` for names that a route with a
 * caller does not know: a filter that is dropped shows more than was wanted. Routes without a caller ignore them: browsers
 * and foreign programs open these with parameters of their own (RFC 6749 section 4.1.2).
 */
export function validateQuery(row: Parameterised, query: Readonly<Record<string, unknown>>): object {
  const { data, faults } = row.query ? parse(row.query, query) : { data: {}, faults: [] };
  const all = [...unknownParameters(row, query), ...faults];
  if (all.length > 0) throw refusalOf(all);
  return data as object;
}

function unknownParameters(row: Parameterised, query: Readonly<Record<string, unknown>>): Fault[] {
  if (row.access.auth === "none") return [];
  const shape = row.query?.shape ?? {};
  const isKnown = (name: string) => Object.hasOwn(shape, name) || (name === "orgId" && takesOrgInQuery(row));
  const parameters = Object.keys(query)
    .filter((name) => !isKnown(name))
    .slice(0, maxNamed);
  if (parameters.length === 0) return [];
  const known = [...Object.keys(shape), ...(takesOrgInQuery(row) ? ["orgId"] : [])].sort();
  const text = `Unknown parameter; ${known.length === 0 ? "none is known" : `known: ${known.join(", ")}`}`;
  const coded: CodedFault = { code: "unknown_parameter", text: "Unknown parameter", facts: { parameters } };
  return parameters.map((path) => ({ path, text, coded }));
}

/** Whether a row's body has a field of that name. */
export function hasField({ body }: Pick<Route, "body">, name: string): boolean {
  return body !== undefined && "shape" in body && Object.hasOwn(body.shape as object, name);
}

/** Whether the organization of a row's body may be in the query instead. */
export const takesOrgInQuery = (row: Pick<Route, "body" | "query">): boolean =>
  hasField(row, "orgId") && !Object.hasOwn(row.query?.shape ?? {}, "orgId");

/**
 * The body as its route accepts it; `orgId` may be in the query. Throws as `validate` does, and `no_updates` for a
 * PATCH without a known field.
 */
export function validateBody(
  row: Pick<Route, "method" | "body" | "query" | "aliases">,
  value: unknown,
  query: Readonly<Record<string, unknown>>,
): unknown {
  if (!row.body) return undefined;
  const body = validate(row.body, withOrganization(row, withAliases(row, value), query)) as object | null;
  if (row.method === "PATCH" && !Object.entries(body ?? {}).some(isUpdate)) {
    throw new AppError("no_updates", "No updates provided");
  }
  return body;
}

/** The organization locates the change and is not a change itself. */
const isUpdate = ([name, value]: [string, unknown]) => value !== undefined && name !== "orgId";

function withAliases({ aliases }: Pick<Route, "aliases">, value: unknown): unknown {
  if (aliases === undefined || !isRecord(value)) return value;
  const read = Object.entries(aliases).map(([alias, name]) => [name, value[name] ?? value[alias]] as const);
  return { ...value, ...Object.fromEntries(read.filter(([, given]) => given !== undefined)) };
}

function withOrganization(
  row: Pick<Route, "body" | "query">,
  value: unknown,
  { orgId }: Readonly<Record<string, unknown>>,
): unknown {
  if (orgId === undefined || !takesOrgInQuery(row) || !isRecord(value)) return value;
  const own = value.orgId ?? undefined;
  if (own !== undefined && String(own).toLowerCase() !== String(orgId).toLowerCase()) {
    throw validationError({ orgId: ["Differs from orgId of the query"] });
  }
  return { ...value, orgId };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Codes that mean one field, and the names it has in the routes. */
const fields: Partial<Record<string, readonly string[]>> = {
  unknown_scope: ["scopes"],
  unknown_event_type: ["events", "type", "event"],
  invalid_webhook_url: ["url"],
  organization_context_required: ["orgId"],
  partner_id_required: ["partnerId"],
};

/** A refusal of a service with the field that it means under `details.fieldErrors`. */
export function withField(error: AppError, row: Pick<Route, "body" | "query">): AppError {
  const names = fields[error.code];
  if (names === undefined || error.facts.details !== undefined) return error;
  const known = (name: string) => hasField(row, name) || Object.hasOwn(row.query?.shape ?? {}, name);
  const field = names.find(known) ?? names[0] ?? "";
  const reason = typeof error.facts.reason === "string" ? `${error.message}: ${error.facts.reason}` : error.message;
  const details = { formErrors: [], fieldErrors: { [field]: [reason] } };
  const { cause, retryAfterSeconds } = error;
  const facts = { ...error.facts, details };
  return new AppError(error.code, error.message, {
    cause,
    facts,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
