import { AppError } from "@muster/kit";
import { EdgeError, type ErrorReply, errorReply } from "../errors.ts";
import { apiPrefix } from "../route/route.ts";

export const scimType = "application/scim+json; charset=utf-8";
export const scimPath = `${apiPrefix}/scim/v2`;
export const scimErrorUrn = "urn:ietf:params:scim:api:messages:2.0:Error";

/** Whether a request target is below the base address of SCIM, also where no row is. */
export const isScimTarget = (target: string): boolean =>
  target.startsWith(scimPath) && /^[/?]?$/.test(target.charAt(scimPath.length));

/** `scimType` of refusals that identity does not name one for (RFC 7644, table 9). */
const types: Partial<Record<string, string>> = {
  invalid_json: "invalidSyntax",
  validation_failed: "invalidSyntax",
  bad_request: "invalidSyntax",
};

/** A failure as SCIM describes it (RFC 7644, section 3.12): one sentence, in English, for administrators. */
export function scimErrorReply(error: unknown, requestId: string): ErrorReply {
  const reply = errorReply(error, requestId);
  const { status, code } = reply;
  const own = error instanceof AppError ? error.facts.scimType : undefined;
  const scimType = typeof own === "string" ? own : types[code];
  const body = {
    schemas: [scimErrorUrn],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail: detailOf(error, reply),
  };
  return { ...reply, body: JSON.stringify(body) };
}

function detailOf(error: unknown, reply: ErrorReply): string {
  const { error: text } = JSON.parse(reply.body) as { error: string };
  const fields = error instanceof AppError ? fieldTexts(error.facts.details) : [];
  if (fields.length > 0) return fields.join(" ");
  return error instanceof AppError || error instanceof EdgeError ? sentence(text) : text;
}

const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

function fieldTexts(details: unknown): string[] {
  if (typeof details !== "object" || details === null) return [];
  const { fieldErrors = {}, formErrors = [] } = details as {
    fieldErrors?: Record<string, string[]>;
    formErrors?: string[];
  };
  const named = Object.entries(fieldErrors).map(([field, texts]) => sentence(`${field}: ${texts.join(", ")}`));
  return [...formErrors.map(sentence), ...named];
}
