import { AppError, type ErrorCode, type FieldErrors, validationError } from "@muster/kit";
import type { z } from "zod";
import { finalText, issueText } from "./issue-texts.ts";

/**
 * What a schema's own check may report of an invalid value: a code other than `validation_failed`, and public facts.
 */
export type CodedError = { code: ErrorCode; text: string; facts: Record<string, unknown> };

/** One thing wrong with the input: its dotted path (empty for the whole), a text, and the code it has by itself. */
export type InputError = { path: string; text: string; coded?: CodedError | undefined };

/** The input as a schema reads it, and all that is wrong with it; with an error `data` is undefined. */
export function parse(schema: z.ZodType, input: unknown): { data: unknown; errors: readonly InputError[] } {
  const parsed = schema.safeParse(input, { error: issueText });
  if (parsed.success) return { data: parsed.data, errors: [] };
  const errors = parsed.error.issues.map((issue) => ({
    path: issue.path.map(String).join("."),
    text: isMissing(issue, input) ? "Required" : finalText(issue, schema),
    coded: issue.code === "custom" ? (issue.params as CodedError | undefined) : undefined,
  }));
  return { data: undefined, errors };
}

/** Whether nothing is where an error was found; a check of several fields has its own text for that. */
function isMissing({ code, path }: z.core.$ZodIssue, input: unknown): boolean {
  if (code === "custom" || path.length === 0) return false;
  const found = path.reduce<unknown>(
    (value, name) => (value as Record<PropertyKey, unknown> | undefined)?.[name],
    input,
  );
  return found === undefined;
}

/**
 * The refusal that names all errors, under `details.fieldErrors` by path: with the code that they all have by
 * themselves, else `validation_failed` (docs/behaviour.md#errors).
 */
export function refusalOf(errors: readonly InputError[]): AppError {
  // A map: a field may have a name that every object has.
  const byPath = new Map<string, string[]>();
  for (const { path, text } of errors) {
    const texts = byPath.get(path) ?? [];
    if (!texts.includes(text)) byPath.set(path, [...texts, text]);
  }
  const formErrors = byPath.get("") ?? [];
  byPath.delete("");
  const fieldErrors: FieldErrors = Object.fromEntries(byPath);
  const first = errors[0]?.coded;
  if (first?.code === undefined || errors.some(({ coded }) => coded?.code !== first.code)) {
    return validationError(fieldErrors, formErrors);
  }
  return new AppError(first.code, first.text, { facts: { ...first.facts, details: { formErrors, fieldErrors } } });
}
