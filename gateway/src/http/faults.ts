import { AppError, type ErrorCode, type FieldErrors, validationError } from "@muster/kit";
import type { z } from "zod";
import { finalText, textOf } from "./words.ts";

/** What a schema's own check may report of its fault: a code other than `validation_failed`, and public facts. */
export type CodedFault = { code: ErrorCode; text: string; facts: Record<string, unknown> };

/** One thing wrong with the input: its dotted path (empty for the whole), a text, and the code it has by itself. */
export type Fault = { path: string; text: string; coded?: CodedFault | undefined };

/** The input as a schema reads it, and all that is wrong with it; with a fault `data` is undefined. */
export function parse(schema: z.ZodType, input: unknown): { data: unknown; faults: readonly Fault[] } {
  const parsed = schema.safeParse(input, { error: textOf });
  if (parsed.success) return { data: parsed.data, faults: [] };
  const faults = parsed.error.issues.map((issue) => ({
    path: issue.path.map(String).join("."),
    text: isMissing(issue, input) ? "Required" : finalText(issue, schema),
    coded: issue.code === "custom" ? (issue.params as CodedFault | undefined) : undefined,
  }));
  return { data: undefined, faults };
}

/** Whether nothing is where a fault was found; a check of several fields has its own words for that. */
function isMissing({ code, path }: z.core.$ZodIssue, input: unknown): boolean {
  if (code === "custom" || path.length === 0) return false;
  const found = path.reduce<unknown>(
    (value, name) => (value as Record<PropertyKey, unknown> | undefined)?.[name],
    input,
  );
  return found === undefined;
}

/**
 * The refusal that tells all faults, under `details.fieldErrors` by path: with the code that they all have by
 * themselves, else `validation_failed` (docs/behaviour.md#errors).
 */
export function refusalOf(faults: readonly Fault[]): AppError {
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
