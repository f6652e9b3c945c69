import { createHash } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { z } from "zod";
import { type PublicCode, statusOf } from "../errors.ts";
import { hasCursor } from "../http/list-cursor.ts";
import { protobufMediaType } from "../http/otlp-errors.ts";
import type { Route } from "../route/route.ts";
import { addComponent, type JsonSchema } from "./json-schema.ts";

const details = z.object({ formErrors: z.array(z.string()), fieldErrors: z.record(z.string(), z.array(z.string())) });

/** The body of every error. Some codes add facts to the three fields that every error has. */
export const errorBody = z
  .looseObject({
    error: z.string().meta({ description: "Message for humans, in English." }),
    code: z.string().meta({ description: "Stable code in snake_case, for programs." }),
    requestId: z.string().meta({ description: "Id of the request, as in X-Request-Id." }),
    details: details.optional().meta({ description: "All errors of the request, by dotted field path." }),
    required: z.string().optional().meta({ description: "With `permission_denied`: the permission that is missing." }),
    requiredScopes: z
      .array(z.string())
      .optional()
      .meta({ description: "With `insufficient_scope`: the key needs one of these." }),
    allowed: z.array(z.string()).optional().meta({ description: "With `scope_not_allowed`: scopes of the operation." }),
    enrollUrl: z
      .string()
      .optional()
      .meta({ description: "With `mfa_required`: path at which a user enrolls a factor." }),
    status: z
      .string()
      .optional()
      .meta({ description: "With `partner_inactive`, `organization_inactive`: the status." }),
    intervalSeconds: z
      .int()
      .optional()
      .meta({ description: "With `slow_down`: seconds between requests from now on." }),
    limit: z.number().optional().meta({ description: "With `limit_reached`: the limit." }),
    scopes: z
      .array(z.string())
      .optional()
      .meta({ description: "With `unknown_scope`, `delegation_denied`: the refused scopes." }),
    parameters: z.array(z.string()).optional().meta({ description: "With `unknown_parameter`: the first 20 of them." }),
    types: z.array(z.string()).optional().meta({ description: "With `unknown_event_type`: the refused types." }),
    reason: z
      .string()
      .optional()
      .meta({ description: "With `invalid_webhook_url`, and a refused URL of single sign-on: the reason." }),
  })
  .meta({ id: "Error" });

/** The body of every error of SCIM (RFC 7644, section 3.12). */
export const scimErrorBody = z
  .object({
    schemas: z.array(z.string()),
    status: z.string().meta({ description: "The status code." }),
    scimType: z.string().optional().meta({ description: "Detail of a 400 or 409 (RFC 7644, table 9)." }),
    detail: z.string().meta({ description: "One sentence for administrators." }),
  })
  .meta({ id: "ScimError" });

/** A key decides wherever it is sent, also when it is invalid. */
const keyCodes: readonly PublicCode[] = [
  "api_key_missing",
  "api_key_invalid_format",
  "api_key_invalid",
  "api_key_revoked",
  "api_key_expired",
  "address_not_allowed",
];

/** Codes that a row can answer. */
export function errorCodesOf(row: Route): PublicCode[] {
  const codes: PublicCode[] = ["bad_request", "headers_too_large", ...(row.errors ?? [])];
  if (row.refused !== undefined) return codes;
  if (row.access.auth === "agent") {
    codes.push(
      "unauthenticated",
      "agent_token_invalid",
      "agent_token_revoked",
      "agent_token_required",
      "agent_not_found",
    );
    codes.push("token_expired", "session_revoked", ...keyCodes);
    codes.push("partner_inactive", "organization_inactive", "rate_limited");
    if (!row.access.whileQuarantined) codes.push("agent_quarantined");
  } else if (row.access.auth === "directory") {
    codes.push("directory_token_invalid", "directory_paused", "partner_inactive", "organization_inactive");
    codes.push("rate_limited");
  } else if (row.access.auth !== "none") {
    codes.push("token_expired", "session_revoked", ...keyCodes, "rate_limited", "unauthenticated");
    codes.push("agent_token_invalid", "agent_token_revoked", "user_session_required");
  }
  if (row.access.auth === "session" || row.access.auth === "any") {
    if (!row.access.whileInactive) codes.push("partner_inactive", "organization_inactive");
  }
  if (row.access.auth === "session") {
    if (row.access.keyScopes) codes.push("insufficient_scope");
    if (row.access.permission) codes.push("permission_denied", "misconfigured_account");
    if (row.access.mfa || !row.access.beforeSecondFactor) codes.push("mfa_required");
    if (row.access.scopes) codes.push("scope_not_allowed", "misconfigured_account");
  }
  if (row.method === "PATCH" && row.dialect === undefined) codes.push("no_updates");
  if (row.idempotent) codes.push("idempotency_conflict");
  if (row.perAddressPerMinute !== undefined) codes.push("rate_limited");
  if (row.access.auth !== "none" && row.dialect === undefined) codes.push("unknown_parameter");
  if (hasCursor(row)) codes.push("cursor_mismatch");
  if (row.params || row.query || row.method !== "GET") codes.push("validation_failed");
  if (row.method !== "GET")
    codes.push("invalid_json", "payload_too_large", "unsupported_media_type", "request_timeout");
  if (row.load !== "vital") codes.push("overloaded");
  codes.push("internal", "unavailable", "deadline_exceeded");
  return [...new Set(codes)];
}

/** The body of every error of OTLP over HTTP: a google.rpc.Status. */
export const otlpErrorBody = z
  .object({
    code: z.int().meta({ description: "A number of google.rpc.Code." }),
    message: z.string().meta({ description: "Our stable code, and what is wrong." }),
  })
  .meta({ id: "OtlpStatus" });

/** Content of OTLP over HTTP: a JSON schema, and the same message in protobuf. */
export const inBothEncodings = (schema: JsonSchema) => ({
  "application/json": { schema },
  [protobufMediaType]: { schema: { type: "string", format: "binary" } },
});

export type ErrorSchemas = {
  base: JsonSchema;
  scim: JsonSchema;
  otlp: JsonSchema;
  components: Map<string, JsonSchema>;
};

/** The error responses of a row by status, each with its codes as an enum; `base` is the schema of every error. */
export function errorReplies(
  row: Route,
  { base, scim, otlp, components }: ErrorSchemas,
  headers: JsonSchema,
): Record<string, JsonSchema> {
  const byStatus = new Map<number, PublicCode[]>();
  for (const code of errorCodesOf(row)) byStatus.set(statusOf(code), [...(byStatus.get(statusOf(code)) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const text = `${STATUS_CODES[status] ?? "Error"}: ${codes.map((code) => `\`${code}\``).join(", ")}`;
      // Headers are too large before the row is known.
      if (row.dialect === "scim" && !codes.includes("headers_too_large")) {
        return [String(status), { description: text, headers, content: { "application/scim+json": { schema: scim } } }];
      }
      if (row.dialect === "otlp" && !codes.includes("headers_too_large")) {
        return [String(status), { description: text, headers, content: inBothEncodings(otlp) }];
      }
      const schema = { $ref: `#/components/schemas/${addError(components, base, status, codes)}` };
      return [String(status), { description: text, headers, content: { "application/json": { schema } } }];
    }),
  );
}

/**
 * Adds the schema of an error with one of these codes, and returns its name. Equal sets share it: generated clients
 * have a type per schema.
 */
function addError(
  components: Map<string, JsonSchema>,
  base: JsonSchema,
  status: number,
  codes: readonly PublicCode[],
): string {
  const sorted = [...codes].sort();
  const name = errorName(status, sorted);
  const own = { type: "object", properties: { code: { type: "string", enum: sorted } } };
  addComponent(components, name, { allOf: [base, own] });
  return name;
}

/** Three codes make a name; more are distinguished by a hash, which stays the same as long as the codes do. */
function errorName(status: number, codes: readonly PublicCode[]): string {
  if (codes.length <= 3) return `${codes.map(pascalCase).join("Or")}Error`;
  const hash = createHash("sha256").update(codes.join()).digest("hex").slice(0, 6);
  return `${pascalCase(STATUS_CODES[status] ?? String(status))}Error${hash}`;
}

const pascalCase = (text: string) =>
  text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
