import { type FieldErrors, validationError } from "@muster/kit";
import type { z } from "zod";

/** Parsed input, or AppError `validation_failed` with the texts by dotted field path (docs/behaviour.md#errors). */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const formErrors: string[] = [];
  const fieldErrors: FieldErrors = {};
  for (const issue of parsed.error.issues) {
    if (issue.path.length === 0) formErrors.push(issue.message);
    else {
      const path = issue.path.map(String).join(".");
      const texts = fieldErrors[path] ?? [];
      texts.push(issue.message);
      fieldErrors[path] = texts;
    }
  }
  throw validationError(fieldErrors, formErrors);
}
