import { z } from "zod";
import { type PublicCode, statusOf } from "../errors.ts";
import { idempotencyKeyHeader } from "../http/idempotency-key.ts";
import type { AnsweredStatus } from "../http/reply.ts";
import { fullPath, noBody, type Route } from "../route.ts";
import { type JsonSchema, jsonSchemaOf } from "./json-schema.ts";

const errorBody = z
  .object({
    error: z.string().meta({ description: "For people." }),
    code: z.string().meta({ description: "Stable, snake_case; for programs." }),
    requestId: z.string().meta({ description: "As in X-Request-Id." }),
    details: z
      .object({ formErrors: z.array(z.string()), fieldErrors: z.record(z.string(), z.array(z.string())) })
      .optional()
      .meta({ description: "With `validation_failed`: texts by dotted field path." }),
  })
  .meta({ id: "Error" });

const requestIdHeader = { "X-Request-Id": { schema: { type: "string" }, description: "Id of this request." } };

const idempotencyKeyParameter = {
  name: idempotencyKeyHeader,
  in: "header",
  required: false,
  description:
    "Makes a repeat safe: for 24 hours the same request of the same caller under this key is answered with the stored reply, " +
    "another request under it with 409 `idempotency_conflict`. Only successes are stored.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]{1,255}$" },
};

/** The OpenAPI 3.1 document of the rows. */
export function openApiDocument(rows: readonly Route[], about: { version: string; serverUrl: string }): JsonSchema {
  const components = new Map<string, JsonSchema>();
  const errorSchema = jsonSchemaOf(errorBody, "output", components);
  const paths: Record<string, JsonSchema> = {};
  for (const row of rows) {
    const path = fullPath(row).replace(/:([A-Za-z]+)/g, "{$1}");
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operationOf(row, components, errorSchema) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Muster", version: about.version, description: "Control plane for fleets of managed devices." },
    servers: [{ url: about.serverUrl }],
    tags: [...new Set(rows.map((row) => row.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        session: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        agent: { type: "http", scheme: "bearer", description: "Token that an agent got when it enrolled." },
      },
    },
  };
}

function operationOf(row: Route, components: Map<string, JsonSchema>, errorSchema: JsonSchema): JsonSchema {
  const parameters = [
    ...parametersOf(row.params, "path", components),
    ...parametersOf(row.query, "query", components),
    ...(row.idempotent ? [idempotencyKeyParameter] : []),
  ];
  return {
    operationId: operationId(row),
    tags: [row.tag],
    summary: row.summary,
    ...descriptionOf(row),
    security: securityOf(row),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(row.body
      ? {
          requestBody: {
            required: !mayBeEmpty(row),
            content: bodyContent(row, jsonSchemaOf(row.body, "input", components)),
          },
        }
      : {}),
    responses: {
      [String(row.status ?? 200)]: row.status === 101 ? upgraded : successOf(row, components),
      ...answersOf(row),
      ...errorReplies(row, errorSchema),
    },
  };
}

const upgraded = {
  description: "Switching protocols: from here on the connection is a WebSocket",
  headers: {
    Upgrade: { schema: { type: "string", const: "websocket" } },
    Connection: { schema: { type: "string", const: "Upgrade" } },
    "Sec-WebSocket-Accept": { description: "RFC 6455, section 4.2.2.", schema: { type: "string" } },
  },
};

function successOf(row: Route, components: Map<string, JsonSchema>): JsonSchema {
  const own = row.answers?.[(row.status ?? 200) as AnsweredStatus];
  const said = {
    description: own?.description ?? "Success",
    headers: { ...requestIdHeader, ...fileHeaders(row), ...headersOf(own?.headers ?? {}) },
  };
  if (row.reply === noBody) return said;
  return { ...said, content: contentOf(row, jsonSchemaOf(row.reply, "output", components)) };
}

/** Answers with a status of their own; a part of a file has its content type, the others have no body. */
function answersOf(row: Route): Record<string, JsonSchema> {
  const others = Object.entries(row.answers ?? {}).filter(([status]) => Number(status) !== (row.status ?? 200));
  return Object.fromEntries(
    others.map(([status, { description, headers = {} }]) => {
      const said = { description, headers: { ...requestIdHeader, ...headersOf(headers) } };
      return [status, status === "206" ? { ...said, content: contentOf(row, { type: "string" }) } : said];
    }),
  );
}

function bodyContent(row: Route, schema: JsonSchema): JsonSchema {
  return row.form ? { "application/x-www-form-urlencoded": { schema } } : jsonContent(schema);
}

/** Whether a request may come without a body, which the gateway reads as `{}`; a PATCH without one is 400 `no_updates`. */
const mayBeEmpty = ({ method, body }: Route) => method !== "PATCH" && body?.safeParse({}).success === true;

function securityOf({ access }: Route): Record<string, string[]>[] {
  if (access.auth === "none") return [];
  if (access.auth === "agent") return [{ agent: [] }];
  if (access.auth === "optional") return [{}, { session: [] }];
  return takesKeys(access) ? [{ session: [] }, { apiKey: [] }] : [{ session: [] }];
}

function takesKeys(access: Route["access"]): boolean {
  return access.auth === "any" || (access.auth === "session" && access.keyScopes !== undefined);
}

function descriptionOf({ access, description }: Route): { description?: string } {
  const sentences = description === undefined ? [] : [description];
  if (access.auth === "agent") sentences.push("Takes the token of the agent that `id` names.");
  if (access.auth === "session") {
    if (access.permission) sentences.push(`Permission \`${access.permission}\`.`);
    if (access.keyScopes)
      sentences.push(`API keys need scope ${access.keyScopes.map((s) => `\`${s}\``).join(" or ")}.`);
    if (access.scopes) sentences.push(`Scope ${access.scopes.join(", ")}.`);
    if (access.mfa) sentences.push("Needs a completed MFA challenge.");
  }
  return sentences.length > 0 ? { description: sentences.join(" ") } : {};
}

function parametersOf(
  schema: z.ZodObject | undefined,
  place: "path" | "query",
  components: Map<string, JsonSchema>,
): JsonSchema[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, ...rest } = jsonSchemaOf(field as z.ZodType, "input", components);
    return {
      name,
      in: place,
      required: place === "path" || !(field as z.ZodType).safeParse(undefined).success,
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

/** A key decides wherever it stands, also when it is bad. */
const keyCodes: readonly PublicCode[] = [
  "api_key_missing",
  "api_key_invalid_format",
  "api_key_invalid",
  "api_key_revoked",
  "api_key_expired",
  "address_not_allowed",
];

/** Codes that a row can answer, by status. */
export function errorCodesOf(row: Route): PublicCode[] {
  const codes: PublicCode[] = ["bad_request", ...(row.errors ?? [])];
  if (row.access.auth === "agent") {
    codes.push(
      "unauthenticated",
      "agent_token_invalid",
      "agent_token_revoked",
      "agent_token_required",
      "agent_not_found",
    );
    codes.push("partner_inactive", "organization_inactive", "rate_limited");
    if (!row.access.whileQuarantined) codes.push("agent_quarantined");
  } else if (row.access.auth !== "none") {
    codes.push("token_expired", "session_revoked", ...keyCodes, "rate_limited");
  }
  if (row.access.auth === "session" || row.access.auth === "any") {
    codes.push("unauthenticated");
    if (!row.access.whileInactive) codes.push("partner_inactive", "organization_inactive");
  }
  if (row.access.auth === "optional") codes.push("user_session_required");
  if (row.access.auth === "session") {
    codes.push(row.access.keyScopes ? "insufficient_scope" : "user_session_required");
    if (row.access.permission) codes.push("permission_denied", "misconfigured_account");
    if (row.access.mfa) codes.push("mfa_required");
    if (row.access.scopes) codes.push("scope_not_allowed");
  }
  if (row.idempotent) codes.push("idempotency_conflict");
  if (row.perAddressPerMinute !== undefined) codes.push("rate_limited");
  if (row.params || row.query || row.body || row.method === "POST") codes.push("validation_failed");
  if (row.method !== "GET") codes.push("payload_too_large", "unsupported_media_type");
  if (row.method !== "GET" && !row.form) codes.push("invalid_json");
  if (row.load !== "vital") codes.push("overloaded");
  codes.push("internal", "unavailable", "deadline_exceeded");
  return [...new Set(codes)];
}

function errorReplies(row: Route, errorSchema: JsonSchema): Record<string, JsonSchema> {
  const byStatus = new Map<number, PublicCode[]>();
  for (const code of errorCodesOf(row)) byStatus.set(statusOf(code), [...(byStatus.get(statusOf(code)) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\``).join(", "),
        headers: requestIdHeader,
        content: jsonContent(errorSchema),
      },
    ]),
  );
}

function contentOf({ file }: Route, schema: JsonSchema): JsonSchema {
  if (!file) return jsonContent(schema);
  return Object.fromEntries(file.contentTypes.map((type) => [type, { schema }]));
}

function fileHeaders({ file }: Route): JsonSchema {
  return headersOf(file?.headers ?? {});
}

function headersOf(headers: Readonly<Record<string, string>>): JsonSchema {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { schema: { type: "string" }, description }]),
  );
}

function jsonContent(schema: JsonSchema): JsonSchema {
  return { "application/json": { schema } };
}

function operationId(row: Route): string {
  const words = `${row.method.toLowerCase()}/${row.path}`.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return words.map((word, index) => (index === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join("");
}
