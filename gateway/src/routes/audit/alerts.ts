import { alertTemplates, validationError } from "@muster/kit";
import type { Alert } from "@muster/proto/muster/audit/v1/alert_pb";
import { z } from "zod";
import type { Services } from "../../clients/services.ts";
import { parse, refusalOf } from "../../http/input-errors.ts";
import { type Route, type RouteRequest, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import { checkRecipients } from "../fields/recipients.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  objectOf,
  objectOut,
  only,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";
import { auditQuery, listErrors, tag, wantedOf } from "./audit-logs.ts";

const read = { auth: "session", permission: "audit:read" } as const;
const write = { auth: "session", permission: "audit:write", mfa: true } as const;

const template = z.enum(alertTemplates).meta({
  description:
    "Ready-made search: a user gets a seeded administrator's role; a sign-in provider is no longer active, deleted or no longer enforced; an API key gets the scope `*`; 10 refusals in 10 minutes.",
});
const threshold = z
  .object({ count: z.int().min(1).max(1_000), minutes: z.int().min(1).max(1_440) })
  .meta({ description: "So many matching rows of one chain within so many minutes." });
const status = z.enum(["active", "paused", "ended"]);
const mail = z.array(id).max(20).meta({ description: "Users who get a mail, at most one an hour." });
const webhook = z.boolean().meta({
  description:
    "Whether webhooks of the organization that name the event type `audit.alert_fired` get it; `*` does not mean it.",
});

const alert = z
  .object({
    id: idOut,
    orgId: idOut.nullable().meta({ description: "Null for an alert over a partner or the platform." }),
    name: z.string(),
    template: template.nullable(),
    query: objectOut.meta({ description: "The filters of the search; empty with a template." }),
    threshold: threshold.nullable().meta({ description: "Null: each matching row." }),
    notify: z.object({ webhook: z.boolean(), mail: z.array(idOut) }),
    status: status.meta({ description: "`ended`: the user who set it is no longer a user." }),
    lastError: z.string().nullable().meta({ description: "Why nothing was sent the last time." }),
    lastFiredAt: timeOut.nullable(),
    firedCount: z.int(),
    authorId: idOut.meta({
      description: "User who set or last changed it; it fires while that user may read the rows.",
    }),
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "AuditAlert" });

const filters = auditQuery.omit({
  page: true,
  limit: true,
  cursor: true,
  skipCount: true,
  orgId: true,
  from: true,
  to: true,
}).shape;
const search = z
  .object({
    ...filters,
    q: z.string().min(1).max(255).optional().meta({
      description: "Text in action, actor's e-mail, resource or details, ignoring case.",
    }),
  })
  .meta({ description: "Filters of the audit lists, and `q`; without times." });
const notify = z.object({ webhook: webhook.optional(), mail: mail.optional() }).meta({ description: "At least one." });

const list = route({
  method: "GET",
  path: "/audit-logs/alerts",
  access: read,
  tag,
  summary: "Alerts of audit rows that the caller may see, newest first",
  query: listQuery.extend({ orgId: id.optional().meta({ description: only.organization }) }),
  reply: z.object({ data: z.array(alert), pagination }),
  errors: listErrors,
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "" };
    const reply = await services.auditAlerts.listAlerts(wanted, await rpc());
    return { data: reply.alerts.map(alertOf), pagination: paginationOf(reply.page) };
  },
});

const errors = ["audit_alert_not_found", "site_restricted"] as const;

const get = route({
  method: "GET",
  path: "/audit-logs/alerts/:id",
  access: read,
  tag,
  summary: "One alert of audit rows",
  params: idParams,
  reply: alert,
  errors,
  async handle({ params, rpc }, { services }) {
    return alertOf((await services.auditAlerts.getAlert({ id: params.id }, await rpc())).alert);
  },
});

const create = route({
  method: "POST",
  path: "/audit-logs/alerts",
  audit: "audit.alert.create",
  auditResource: "audit_alert",
  access: write,
  tag,
  summary: "Be notified of audit rows that match a search",
  description:
    "By one of `template`, `query` and `viewId`, a saved view of `audit-logs`, whose query is copied. It covers rows that are sealed from now on: of the organization, or, without one, of the caller's own partner with all its organizations, or of the platform.",
  body: z.object({
    orgId: id.optional().meta({ description: "Organization of the alert; without it, the caller's own tenant." }),
    name: nameIn,
    template: template.optional(),
    query: search.optional(),
    viewId: id.optional(),
    threshold: threshold.optional(),
    notify,
  }),
  example: {
    orgId: exampleId,
    name: "New administrators",
    template: "new-administrator",
    notify: { mail: [exampleId] },
  },
  status: 201,
  idempotent: true,
  reply: alert,
  errors: [...listErrors, "scope_not_allowed", "limit_reached", "saved_view_not_found", "permission_denied"],
  async handle(request, { services }) {
    const { body, rpc } = request;
    const { orgId = "", name, template: ready = "", query, viewId, threshold: wantedThreshold } = body;
    if (viewId && query) throw validationError({ viewId: ["Not beside a query"] });
    await checkRecipients(request, services, "notify.mail", request.body.notify?.mail ?? []);
    const filter = viewId ? await viewedQuery(viewId, request, services) : query;
    const wanted = { orgId, name, template: ready, notify: notifyOf(body.notify), ...filterOf(filter) };
    const reply = await services.auditAlerts.createAlert(
      { ...wanted, ...(wantedThreshold ? { threshold: wantedThreshold } : {}) },
      await rpc(),
    );
    return alertOf(reply.alert);
  },
});

const paths = { name: "name", status: "status", query: "filter", threshold: "threshold", notify: "notify" };

const update = route({
  method: "PATCH",
  path: "/audit-logs/alerts/:id",
  audit: "audit.alert.update",
  auditResource: "audit_alert",
  access: write,
  tag,
  summary: "Change, pause or resume an alert of audit rows",
  description:
    "The caller becomes its author. `query` replaces all filters or the template; `threshold` null means each row.",
  params: idParams,
  body: z.object({
    name: nameIn.optional(),
    status: z.enum(["active", "paused"]).optional(),
    query: search.optional(),
    threshold: threshold.nullish(),
    notify: notify.optional(),
  }),
  example: { status: "paused" },
  reply: alert,
  errors: [...errors, "no_updates", "scope_not_allowed", "permission_denied"],
  async handle(request, { services }) {
    const { params, body, rpc } = request;
    await checkRecipients(request, services, "notify.mail", request.body.notify?.mail ?? []);
    const reply = await services.auditAlerts.updateAlert(
      {
        id: params.id,
        updateMask: maskOf(body, paths),
        name: body.name ?? "",
        status: body.status ?? "",
        ...filterOf(body.query),
        ...(body.threshold ? { threshold: body.threshold } : {}),
        ...(body.notify ? { notify: notifyOf(body.notify) } : {}),
      },
      await rpc(),
    );
    return alertOf(reply.alert);
  },
});

const remove = route({
  method: "DELETE",
  path: "/audit-logs/alerts/:id",
  audit: "audit.alert.delete",
  auditResource: "audit_alert",
  access: write,
  tag,
  summary: "Delete an alert of audit rows",
  description: "What it has not sent yet is not sent.",
  params: idParams,
  reply: success,
  errors: [...errors, "scope_not_allowed"],
  async handle({ params, rpc }, { services }) {
    await services.auditAlerts.deleteAlert({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

type Search = z.output<typeof search>;
type Asking = Pick<RouteRequest, "rpc">;

function filterOf(query: Search | undefined) {
  if (!query) return {};
  const { page: _, ...filter } = wantedOf(query);
  return { filter: { ...filter, query: query.q ?? "" } };
}

const notifyOf = (wanted: z.output<typeof notify>) => ({
  webhook: wanted.webhook ?? false,
  userIds: wanted.mail ?? [],
});

/** The search of a saved view of audit rows. Throws `validation_failed` naming what an alert does not take. */
async function viewedQuery(viewId: string, { rpc }: Asking, services: Services): Promise<Search> {
  const { view } = await services.savedViews.getSavedView({ id: viewId }, await rpc());
  if (view?.resource !== "audit-logs") throw validationError({ viewId: ["Must be a view of audit-logs"] });
  const { data, errors: found } = parse(search.strict(), objectOf(view.queryJson));
  if (found.length > 0) throw refusalOf(found.map(({ path, text }) => ({ path: `viewId.${path}`, text })));
  return data as Search;
}

function alertOf(message: Alert | undefined): z.input<typeof alert> {
  if (!message) throw new Error("audit answered without an alert");
  const { query: q, ...query } = objectOf(message.filterJson);
  return {
    id: message.id,
    orgId: message.orgId || null,
    name: message.name,
    template: message.template === "" ? null : template.parse(message.template),
    query: { ...query, ...(q === undefined ? {} : { q }) },
    threshold: message.threshold ? { count: message.threshold.count, minutes: message.threshold.minutes } : null,
    notify: { webhook: message.notify?.webhook ?? false, mail: message.notify?.userIds ?? [] },
    status: status.parse(message.status),
    lastError: message.lastError || null,
    lastFiredAt: timeOrNull(message.lastFiredAt),
    firedCount: Number(message.fired),
    authorId: message.authorId,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

export const auditAlertRoutes: readonly Route[] = [list, get, create, update, remove];
