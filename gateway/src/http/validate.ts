import { AppError } from "@muster/kit";
import type { z } from "zod";
import type { Route } from "../route/route.ts";
import { type CodedError, type InputError, parse, refusalOf } from "./input-errors.ts";
import { hasField, takesOrgInQuery } from "./validate-body.ts";

/**
 * Parsed input. Throws AppError `validation_failed` with one text per error, all of them, by dotted field path; the
 * error's own code when a check names one and nothing else is wrong (docs/behaviour.md#errors).
 */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const { data, errors } = parse(schema, input);
  if (errors.length > 0) throw refusalOf(errors);
  return data as z.output<S>;
}

type Parameterised = Pick<Route, "access" | "body" | "query" | "dialect">;

/** Unknown parameters that one answer names. */
const maxNamed = 20;

/**
 * The query as its route accepts it. Throws as `validate` does, and `unknown_parameter` for names that a route with a
 * caller does not know: a filter that is dropped shows more than was wanted. Routes without a caller ignore them:
 * browsers and foreign programs open these with parameters of their own (RFC 6749 section 4.1.2).
 */
export function validateQuery(row: Parameterised, query: Readonly<Record<string, unknown>>): object {
  const { data, errors } = row.query ? parse(row.query, query) : { data: {}, errors: [] };
  const all = [...unknownParameters(row, query), ...errors];
  if (all.length > 0) throw refusalOf(all);
  return data as object;
}

function unknownParameters(row: Parameterised, query: Readonly<Record<string, unknown>>): InputError[] {
  if (row.access.auth === "none" || row.dialect === "scim") return [];
  const shape = row.query?.shape ?? {};
  const isAccepted = (name: string) => Object.hasOwn(shape, name) || (name === "orgId" && takesOrgInQuery(row));
  const parameters = Object.keys(query)
    .filter((name) => !isAccepted(name))
    .slice(0, maxNamed);
  if (parameters.length === 0) return [];
  const names = [...Object.keys(shape), ...(takesOrgInQuery(row) ? ["orgId"] : [])].sort();
  const text = `Unknown parameter; ${names.length === 0 ? "none is known" : `known: ${names.join(", ")}`}`;
  const coded: CodedError = { code: "unknown_parameter", text: "Unknown parameter", facts: { parameters } };
  return parameters.map((path) => ({ path, text, coded }));
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
  const isField = (name: string) => hasField(row, name) || Object.hasOwn(row.query?.shape ?? {}, name);
  const field = names.find(isField) ?? names[0] ?? "";
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
