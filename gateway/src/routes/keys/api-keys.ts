import { anyScope, canonicalCidr, isKeyScope, keyScopes, permissionsOfScope, servedScopes } from "@muster/kit";
import type { ApiKey } from "@muster/proto/muster/identity/v1/api_key_pb";
import { z } from "zod";
import type { CodedError } from "../../http/input-errors.ts";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import {
  comingTimeIn,
  exampleId,
  id,
  idOut,
  idParams,
  listedIn,
  listQuery,
  nameIn,
  only,
  pageOf,
  pagination,
  paginationOf,
  searchIn,
  success,
  timeIn,
  timeOf,
  timeOrNull,
  timeOut,
  timestampOf,
} from "../fields/schemas.ts";

const tag = "API keys";
const read = { auth: "session", permission: "organizations:read" } as const;
const write = { auth: "session", permission: "organizations:write", mfa: true } as const;

const status = z.enum(["active", "expired", "revoked"]);

export const scopesIn = z
  .array(listedIn([anyScope, ...keyScopes]).min(1))
  .max(100)
  .superRefine((scopes, { addIssue }) => {
    const unknown = [...new Set(scopes)].filter((scope) => scope !== anyScope && !isKeyScope(scope));
    if (unknown.length === 0) return;
    const params: CodedError = { code: "unknown_scope", text: "Unknown scope", facts: { scopes: unknown } };
    addIssue({ code: "custom", message: `Unknown: ${unknown.join(", ")}`, params });
  })
  .meta({ description: `\`${anyScope}\` stands for all but \`audit:append\`.` });
const rateLimit = z.int().min(1).max(100_000);
const allowedIps = z
  .array(z.string().min(1).max(100))
  .max(50)
  .superRefine((ranges, { addIssue }) => {
    // Identity checks again; here it is reported with the other errors of the body.
    if (ranges.some((range) => canonicalCidr(range) === null)) {
      addIssue({ code: "custom", message: "IP addresses or CIDR ranges" });
    }
  })
  .meta({ description: "Addresses and CIDR ranges the key is accepted from; empty accepts it from anywhere." });

export const apiKey = z
  .object({
    id: idOut,
    orgId: idOut,
    name: z.string(),
    keyPrefix: z.string().meta({ description: "First 12 characters of the key." }),
    scopes: z.array(z.string()),
    expiresAt: timeOut.nullable().meta({ description: "Null for a key that does not expire." }),
    rateLimit: z.int().meta({ description: "Maximum number of requests per hour." }),
    allowedIps: z.array(z.string()),
    createdBy: idOut,
    createdAt: timeOut,
    status,
    lastUsedAt: timeOut.nullable(),
    usageCount: z.int(),
    principalId: idOut.nullable().meta({ description: "The service principal that owns the key." }),
  })
  .meta({ id: "ApiKey" });

const keyOut = z.string().meta({ description: "The full key: `svc_` and 32 characters. Shown only once." });
/** What every reply has that makes or rotates a key: the secret itself, and whose it is. */
export const keyShown = {
  key: keyOut,
  keyId: idOut.meta({ description: "Id of the API key." }),
  keyPrefix: z.string().meta({ description: "First 12 characters of the key." }),
};
export const warningOut = z.string().meta({ description: "States that the key is not shown again." });
export const keyWarning = "Store this key now: it cannot be shown again.";

const create = route({
  method: "POST",
  path: "/api-keys",
  access: write,
  audit: "api_key.create",
  tag,
  summary: "Create an API key",
  description: "A caller can only grant a scope when they hold its permission.",
  body: z.object({
    orgId: id,
    name: nameIn,
    scopes: scopesIn.optional(),
    expiresAt: comingTimeIn.nullish(),
    rateLimit: rateLimit.optional().meta({ description: "Maximum number of requests per hour.", default: 1_000 }),
    allowedIps: allowedIps.optional(),
  }),
  example: { orgId: exampleId, name: "Inventory", scopes: ["devices:read"] },
  idempotent: true,
  noStore: true,
  status: 201,
  reply: apiKey.extend({ ...keyShown, warning: warningOut }),
  errors: ["unknown_scope", "organization_not_found", "delegation_denied", "site_restricted"],
  async handle({ body, rpc }, { services }) {
    const wanted = {
      orgId: body.orgId,
      name: body.name,
      scopes: body.scopes ?? [],
      expiresAt: timestampOf(body.expiresAt ?? undefined),
      rateLimit: body.rateLimit ?? 0,
      allowedIps: body.allowedIps ?? [],
    };
    const reply = await services.apiKeys.createApiKey(wanted, await rpc());
    return { ...withKey(reply), warning: keyWarning };
  },
});

const list = route({
  method: "GET",
  path: "/api-keys",
  access: read,
  tag,
  summary: "API keys of accessible organizations, newest first",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    status: status.optional().meta({ description: only.equal }),
    search: searchIn.meta({
      description:
        "Only records with a name that contains this text, ignoring case, or with a `keyPrefix` that begins with it.",
    }),
    expiresBefore: timeIn
      .optional()
      .meta({ description: "Only records that expire before this time; keys without an expiry are excluded." }),
  }),
  reply: z.object({ data: z.array(apiKey), pagination }),
  errors: ["organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const wanted = {
      page: pageOf(query),
      orgId: query.orgId ?? "",
      status: query.status ?? "",
      search: query.search ?? "",
      expiresBefore: timestampOf(query.expiresBefore),
    };
    const reply = await services.apiKeys.listApiKeys(wanted, await rpc());
    return { data: reply.apiKeys.map(apiKeyOf), pagination: paginationOf(reply.page) };
  },
});

const scopes = route({
  method: "GET",
  path: "/api-keys/scopes",
  access: read,
  tag,
  summary: "Every scope that a key can have",
  reply: z.object({
    data: z.array(
      z.object({
        scope: z.enum(keyScopes),
        permissions: z.array(z.string()).meta({ description: "Permissions that a caller needs to grant the scope." }),
        served: z.boolean().meta({
          description: "Whether an operation of this API needs it; others are of parts that live elsewhere.",
        }),
        grantable: z.boolean().meta({ description: "Whether the caller holds all of them." }),
      }),
    ),
  }),
  handle: ({ session }) => ({
    data: keyScopes.map((scope) => {
      const needed = permissionsOfScope(scope);
      return {
        scope,
        permissions: [...needed],
        served: servedScopes.includes(scope),
        grantable: needed.every((permission) => session.caller.permissions.includes(permission)),
      };
    }),
  }),
});

const get = route({
  method: "GET",
  path: "/api-keys/:id",
  access: read,
  tag,
  summary: "One API key",
  params: idParams,
  reply: apiKey,
  errors: ["api_key_not_found"],
  async handle({ params, rpc }, { services }) {
    return apiKeyOf((await services.apiKeys.getApiKey({ id: params.id }, await rpc())).apiKey);
  },
});

const patch = z.object({
  name: nameIn.optional(),
  scopes: scopesIn.optional(),
  rateLimit: rateLimit.optional(),
  allowedIps: allowedIps.optional(),
});
const paths = { name: "name", scopes: "scopes", rateLimit: "rate_limit", allowedIps: "allowed_ips" };

const update = route({
  method: "PATCH",
  path: "/api-keys/:id",
  access: write,
  audit: "api_key.update",
  tag,
  summary: "Change an active API key",
  description:
    "In force on every gateway before the reply is sent. A service principal's key stays within the principal's scopes.",
  params: idParams,
  body: patch,
  reply: apiKey,
  errors: [
    "no_updates",
    "unknown_scope",
    "api_key_not_found",
    "delegation_denied",
    "key_not_active",
    "site_restricted",
  ],
  async handle({ params, body, rpc }, { services }) {
    const { name = "", scopes = [], rateLimit: limit = 0, allowedIps: ranges = [] } = body;
    const changed = { name, scopes, rateLimit: limit, allowedIps: ranges };
    const wanted = { id: params.id, updateMask: maskOf(body, paths), apiKey: changed };
    return apiKeyOf((await services.apiKeys.updateApiKey(wanted, await rpc())).apiKey);
  },
});

const revoke = route({
  method: "DELETE",
  path: "/api-keys/:id",
  load: "vital",
  access: write,
  audit: "api_key.revoke",
  tag,
  summary: "Revoke an API key permanently",
  description:
    "The key is refused everywhere before the reply is sent. The record stays; revoking it again changes nothing.",
  params: idParams,
  reply: success,
  errors: ["api_key_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.apiKeys.revokeApiKey({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

const rotate = route({
  method: "POST",
  path: "/api-keys/:id/rotate",
  access: write,
  audit: "api_key.rotate",
  tag,
  summary: "Replace the secret of an active API key",
  description:
    "The old secret is refused everywhere before the reply is sent, unless a grace period was requested. Usage counters restart at zero.",
  params: idParams,
  body: z.object({
    graceSeconds: z.int().min(0).max(86_400).optional().meta({
      description: "Seconds for which the old secret stays valid. Refused for the key of a service principal.",
      default: 0,
    }),
  }),
  idempotent: true,
  noStore: true,
  reply: apiKey.extend(keyShown),
  errors: ["api_key_not_found", "delegation_denied", "key_not_active", "site_restricted"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, graceSeconds: body.graceSeconds ?? 0 };
    const reply = await services.apiKeys.rotateApiKey(wanted, await rpc());
    return withKey(reply);
  },
});

function withKey(reply: { apiKey?: ApiKey | undefined; key: string }) {
  const record = apiKeyOf(reply.apiKey);
  return { ...record, keyId: record.id, key: reply.key };
}

/** A key's record as replies show it. */
export function apiKeyOf(message: ApiKey | undefined): z.input<typeof apiKey> {
  if (!message) throw new Error("identity answered without an API key");
  return {
    id: message.id,
    orgId: message.orgId,
    name: message.name,
    keyPrefix: message.keyPrefix,
    scopes: message.scopes,
    expiresAt: timeOrNull(message.expiresAt),
    rateLimit: message.rateLimit,
    allowedIps: message.allowedIps,
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    status: status.parse(message.status),
    lastUsedAt: timeOrNull(message.lastUsedAt),
    usageCount: Number(message.usageCount),
    principalId: message.principalId || null,
  };
}

export const apiKeyRoutes: readonly Route[] = [create, list, scopes, get, update, revoke, rotate];
