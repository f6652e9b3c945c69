import type { Permission, Scope } from "@muster/kit";
import type { z } from "zod";
import { idempotencyKeyHeader } from "../http/idempotency-key.ts";
import { jsonMediaType } from "../http/media-type.ts";
import { takesOrgInQuery } from "../http/validate-body.ts";
import type { AnsweredStatus } from "../route/reply.ts";
import { fullPath, noBody, type PermissionByScope, type Route } from "../route/route.ts";
import { type Tag, tagSentences } from "../route/tags.ts";
import { description, license, securitySchemes } from "./about.ts";
import { effectsOf } from "./effects.ts";
import { errorBody, errorReplies, inBothEncodings, otlpErrorBody, scimErrorBody } from "./errors.ts";
import { exampleOf, exampleOfParameter } from "./examples.ts";
import { type JsonSchema, jsonSchemaOf } from "./json-schema.ts";

const requestIdHeader = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };

const idempotencyKeyParameter = {
  name: idempotencyKeyHeader,
  in: "header",
  required: false,
  description:
    "Makes a repeat safe: for 24 hours the same request of the same caller under this key is answered with the stored reply, " +
    "another request under it with 409 `idempotency_conflict`. Only successes are stored.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]{1,255}$" },
};

const orgIdParameter = {
  name: "orgId",
  in: "query",
  required: false,
  description: "May be sent here instead of in the body.",
  schema: { type: "string", format: "uuid" },
};

/** The OpenAPI 3.1 document of the rows. */
export function openApiDocument(rows: readonly Route[], about: { version: string }): JsonSchema {
  const components = new Map<string, JsonSchema>();
  const scim = jsonSchemaOf(scimErrorBody, "output", components);
  const otlp = jsonSchemaOf(otlpErrorBody, "output", components);
  const errors = { base: jsonSchemaOf(errorBody, "output", components), scim, otlp, components };
  const paths: Record<string, JsonSchema> = {};
  for (const row of rows) {
    const path = fullPath(row).replace(/:([A-Za-z]+)/g, "{$1}");
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operationOf(row, errors) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Muster", version: about.version, license, description },
    // Relative: the page that shows the document calls the address that served it.
    servers: [{ url: "/" }],
    tags: tagsOf(rows),
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      headers: { RequestId: { schema: { type: "string" }, description: "Id of this request." } },
      securitySchemes,
    },
  };
}

function operationOf(row: Route, errors: Parameters<typeof errorReplies>[1]): JsonSchema {
  const { components } = errors;
  const parameters = [
    ...parametersOf(row.params, "path", components),
    ...parametersOf(row.query, "query", components),
    ...(takesOrgInQuery(row) ? [orgIdParameter] : []),
    ...(row.idempotent ? [idempotencyKeyParameter] : []),
  ];
  const effects = effectsOf(row, jsonSchemaOf(row.reply, "output", components), components);
  return {
    operationId: operationId(row),
    tags: [row.tag],
    summary: row.summary,
    ...descriptionOf(row),
    security: securityOf(row),
    "x-access": accessOf(row),
    ...(effects.length > 0 ? { "x-effects": effects } : {}),
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
      ...errorReplies(row, errors, requestIdHeader),
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

/** Responses with a status other than the default; a part of a file has its content type, the others have no body. */
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
  if (row.form) return { "application/x-www-form-urlencoded": { schema, example: exampleOf(row) } };
  const others = (row.raw ?? []).filter((type) => type !== jsonMediaType);
  const bytes = { schema: { type: "string", format: "binary" } };
  return { ...jsonContent(schema, exampleOf(row)), ...Object.fromEntries(others.map((type) => [type, bytes])) };
}

/** Whether a request may have no body, which the gateway reads as `{}`; a PATCH without one is 400 `no_updates`. */
const mayBeEmpty = ({ method, body }: Route) => method !== "PATCH" && body?.safeParse({}).success === true;

/** Groups in the order of the table that describes them. */
function tagsOf(rows: readonly Route[]) {
  const used = new Set(rows.map((row) => row.tag));
  const names = (Object.keys(tagSentences) as Tag[]).filter((name) => used.has(name));
  return names.map((name) => ({ name, description: tagSentences[name] }));
}

/** Rows that refuse users limited to some sites only for what lies outside of these. */
const decidedBySite = ["/devices", "/device-groups", "/enrollment-keys"];

/**
 * Requirements for the caller, machine-readable: null means "none of that kind", for `keyScopes` "no API key", for
 * `portal` "no portal session". A permission may be an object, by the scope of the caller.
 */
function accessOf({ access, path, errors = [] }: Route) {
  const allSites = errors.includes("site_restricted") && !decidedBySite.some((each) => path.startsWith(each));
  const session = access.auth === "session" ? access : null;
  return {
    auth: access.auth,
    permission: session?.permission ?? null,
    mfa: session?.mfa ?? false,
    scopes: session?.scopes ?? null,
    keyScopes: session?.keyScopes ?? null,
    portal: session?.portal ?? null,
    // Whether users who are limited to some sites are refused.
    allSites,
  };
}

function securityOf({ access }: Route): Record<string, string[]>[] {
  if (access.auth === "none") return [];
  if (access.auth === "agent") return [{ agent: [] }];
  if (access.auth === "directory") return [{ directory: [] }];
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
    if (access.permission) sentences.push(permissionSentence(access.permission, access.scopes));
    if (access.keyScopes)
      sentences.push(`API keys need scope ${access.keyScopes.map((s) => `\`${s}\``).join(" or ")}.`);
    if (access.portal) sentences.push(portalSentence(access.portal));
    if (access.scopes) sentences.push(`Scope ${access.scopes.join(", ")}.`);
    if (access.mfa) sentences.push("Needs a completed MFA challenge.");
  }
  return sentences.length > 0 ? { description: sentences.join(" ") } : {};
}

/** One permission, or that of each scope that may call. */
function permissionSentence(permission: Permission | PermissionByScope, scopes: readonly Scope[] = []): string {
  if (typeof permission === "string") return `Permission \`${permission}\`.`;
  return `Permission ${scopes.map((scope) => `\`${permission[scope]}\` (${scope})`).join(" or ")}.`;
}

const portalSentence = (capability: string) =>
  capability === "view" ? "Open to portal sessions." : `Portal sessions need capability \`${capability}\`.`;

function parametersOf(
  schema: z.ZodObject | undefined,
  location: "path" | "query",
  components: Map<string, JsonSchema>,
): JsonSchema[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description: text, example: _, ...schema } = jsonSchemaOf(field as z.ZodType, "input", components);
    const required = location === "path" || !(field as z.ZodType).safeParse(undefined).success;
    const example = exampleOfParameter(field as z.ZodType, required);
    return {
      name,
      in: location,
      required,
      ...(text === undefined ? {} : { description: text }),
      // Clients that repeat the name instead are understood, too.
      ...(schema.type === "array" ? { style: "form", explode: false } : {}),
      schema,
      ...(example === undefined ? {} : { example }),
    };
  });
}

function contentOf({ file, contentType, dialect }: Route, schema: JsonSchema): JsonSchema {
  if (dialect === "otlp") return inBothEncodings(schema);
  if (contentType) return { [contentType]: { schema } };
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

function jsonContent(schema: JsonSchema, example?: unknown): JsonSchema {
  return { "application/json": { schema, ...(example === undefined ? {} : { example }) } };
}

function operationId(row: Route): string {
  const words = `${row.method.toLowerCase()}/${row.path}`.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return words.map((word, index) => (index === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join("");
}
