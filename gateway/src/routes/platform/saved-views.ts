import type { SavedView } from "@muster/proto/muster/tenancy/v1/saved_view_pb";
import { z } from "zod";
import { type InputError, parse, refusalOf } from "../../http/input-errors.ts";
import { type Route, route } from "../../route/route.ts";
import { jsonText, maskOf } from "../fields/field-mask.ts";
import {
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  objectOf,
  only,
  pageOf,
  pagination,
  paginationOf,
  searchIn,
  success,
  timeOf,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Saved views";
const session = { auth: "session" } as const;

/** Lists that a view may belong to, and their paths: the names of the command line. */
export const viewedLists = {
  "agent-versions": "/agent-versions",
  "api-keys": "/api-keys",
  "audit-alerts": "/audit-logs/alerts",
  "audit-exports": "/audit-logs/exports",
  "audit-logs": "/audit-logs/logs",
  "audit-streams": "/audit-logs/streams",
  "audit-verifications": "/audit-logs/verify",
  "bulk-jobs": "/devices/bulk-jobs",
  checkpoints: "/audit-logs/checkpoints",
  "dead-letters": "/webhooks/dead-letters",
  deliveries: "/webhooks/:id/deliveries",
  "device-events": "/devices/:id/eventlogs",
  "device-groups": "/device-groups",
  "device-logs": "/devices/:id/diagnostic-logs",
  devices: "/devices",
  directories: "/directories",
  "directory-requests": "/directories/:id/requests",
  "enrollment-keys": "/enrollment-keys",
  "event-deliveries": "/events/:id/deliveries",
  events: "/events",
  "log-usage": "/platform/log-usage",
  organizations: "/orgs/organizations",
  partners: "/orgs/partners",
  roles: "/roles",
  "rollout-devices": "/agent-versions/rollouts/:id/devices",
  rollouts: "/agent-versions/rollouts",
  "service-principals": "/service-principals",
  sites: "/orgs/sites",
  "sso-attempts": "/sso/attempts",
  "sso-domains": "/sso/domains",
  "sso-providers": "/sso/providers",
  users: "/users",
  webhooks: "/webhooks",
} as const;
type ViewedList = keyof typeof viewedLists;
const resource = z.enum(Object.keys(viewedLists) as [ViewedList, ...ViewedList[]]);

/** Parameters that choose a page, and so no rows. */
const paging = ["page", "limit", "cursor", "skipCount"];

const parameter = z.union(
  [z.string().max(3_000), z.array(z.string().max(3_000)).max(100)],
  "A text, or a list of texts",
);
const query = z.record(z.string().min(1).max(64), parameter);
const queryIn = query.meta({
  description: "Parameters of the list, without `page`, `limit`, `cursor` and `skipCount`; a list repeats a parameter.",
});

const view = z
  .object({
    id: idOut,
    orgId: idOut.nullable().meta({ description: "Null for a view of a partner or of the platform." }),
    name: z.string(),
    resource,
    query,
    shared: z.boolean(),
    ownerId: idOut.meta({ description: "User who created it." }),
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "SavedView" });

const newView = z.object({
  orgId: id.optional().meta({ description: "Organization of the view; without it, the caller's own tenant." }),
  name: nameIn,
  resource: resource.meta({ description: "List that the view belongs to." }),
  query: queryIn,
  shared: z.boolean().optional().meta({
    description:
      "Visible to all callers with access to its tenant; needs permission `organizations:write`. Else to its owner alone.",
    default: false,
  }),
});
const patch = z.object({ name: nameIn.optional(), query: queryIn.optional(), shared: z.boolean().optional() });
const paths = { name: "name", query: "query_json", shared: "shared" };

const changeErrors = [
  "saved_view_not_found",
  "permission_denied",
  "site_restricted",
  "scope_not_allowed",
  "limit_reached",
] as const;

/** Rows of saved views of the lists in this table. Throws when one of the lists is missing. */
export function savedViewRoutes(table: readonly Route[]): readonly Route[] {
  const check = queryCheck(table);
  return [list, get, remove, createIn(check), updateIn(check)];
}

type QueryCheck = (of: ViewedList, parameters: Readonly<Record<string, unknown>>) => void;

/** Throws `validation_failed` that names each parameter which the list does not take. */
function queryCheck(table: readonly Route[]): QueryCheck {
  const schemas = Object.entries(viewedLists).map(([name, path]) => {
    const schema = table.find((row) => row.method === "GET" && row.path === path)?.query;
    if (!schema) throw new Error(`no list is served at ${path}`);
    return [name, schema] as const;
  });
  const byName = new Map<string, z.ZodObject>(schemas);
  return (of, parameters) => {
    const schema = byName.get(of) as z.ZodObject;
    const accepted = Object.keys(schema.shape).filter((name) => !paging.includes(name));
    const unknown = Object.keys(parameters).filter((name) => !accepted.includes(name));
    const text = `Unknown parameter; ${accepted.length === 0 ? "none is known" : `known: ${accepted.sort().join(", ")}`}`;
    const errors: InputError[] = [
      ...unknown.map((name) => ({ path: name, text })),
      ...parse(schema, parameters).errors.map((error) => ({ path: error.path, text: error.text })),
    ];
    if (errors.length > 0) throw refusalOf(errors.map((error) => ({ ...error, path: `query.${error.path}` })));
  };
}

const list = route({
  method: "GET",
  path: "/saved-views",
  access: session,
  tag,
  summary: "List the caller's saved views and those shared with them, by name",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    resource: resource.optional().meta({ description: only.equal }),
    search: searchIn,
  }),
  reply: z.object({ data: z.array(view), pagination }),
  errors: ["organization_not_found"],
  async handle({ query: { orgId = "", resource: of = "", search = "", ...page }, rpc }, { services }) {
    const wanted = { page: pageOf(page), orgId, resource: of, search };
    const reply = await services.savedViews.listSavedViews(wanted, await rpc());
    return { data: reply.views.map(viewOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/saved-views/:id",
  access: session,
  tag,
  summary: "One saved view",
  params: idParams,
  reply: view,
  errors: ["saved_view_not_found"],
  async handle({ params, rpc }, { services }) {
    return viewOf((await services.savedViews.getSavedView({ id: params.id }, await rpc())).view);
  },
});

const createIn = (check: QueryCheck) =>
  route({
    method: "POST",
    path: "/saved-views",
    audit: "saved_view.create",
    access: session,
    tag,
    summary: "Save a view: a named query of a list",
    body: newView,
    example: { name: "Offline servers", resource: "devices", query: { status: "offline", label: "role=server" } },
    status: 201,
    idempotent: true,
    reply: view,
    errors: ["organization_not_found", "permission_denied", "site_restricted", "scope_not_allowed", "limit_reached"],
    async handle({ body, rpc }, { services }) {
      check(body.resource, body.query);
      const { orgId = "", name, shared = false } = body;
      const wanted = { orgId, name, resource: body.resource, queryJson: jsonText(body.query), shared };
      return viewOf((await services.savedViews.createSavedView(wanted, await rpc())).view);
    },
  });

const updateIn = (check: QueryCheck) =>
  route({
    method: "PATCH",
    path: "/saved-views/:id",
    audit: "saved_view.update",
    access: session,
    tag,
    summary: "Change a saved view",
    description: "`query` replaces all parameters. The list of a view stays.",
    params: idParams,
    body: patch,
    example: { name: "Offline servers" },
    reply: view,
    errors: ["no_updates", ...changeErrors],
    async handle({ params, body, rpc }, { services }) {
      if (body.query) {
        const stored = viewOf((await services.savedViews.getSavedView({ id: params.id }, await rpc())).view);
        check(stored.resource, body.query);
      }
      const { name = "", shared = false } = body;
      const wanted = { name, queryJson: jsonText(body.query), shared };
      const request = { id: params.id, updateMask: maskOf(body, paths), view: wanted };
      return viewOf((await services.savedViews.updateSavedView(request, await rpc())).view);
    },
  });

const remove = route({
  method: "DELETE",
  path: "/saved-views/:id",
  audit: "saved_view.delete",
  access: session,
  tag,
  summary: "Delete a saved view",
  params: idParams,
  reply: success,
  errors: changeErrors,
  async handle({ params, rpc }, { services }) {
    await services.savedViews.deleteSavedView({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

function viewOf(message: SavedView | undefined): z.output<typeof view> {
  if (!message) throw new Error("tenancy answered without a saved view");
  return {
    id: message.id,
    orgId: message.orgId || null,
    name: message.name,
    resource: resource.parse(message.resource),
    query: query.parse(objectOf(message.queryJson)),
    shared: message.shared,
    ownerId: message.ownerId,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}
