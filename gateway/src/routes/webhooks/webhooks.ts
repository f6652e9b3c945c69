import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import { checkRecipients } from "../fields/recipients.ts";
import {
  exampleId,
  id,
  idParams,
  listQuery,
  only,
  pageOf,
  pagination,
  paginationOf,
  searchIn,
  success,
  timeOrNull,
} from "../fields/schemas.ts";
import {
  deliveryStats,
  health,
  listedWebhook,
  newWebhook,
  patch,
  webhook,
  webhookPaths,
  webhookStatus,
} from "./webhook-fields.ts";
import { filterInput, healthOf, listedWebhookOf, scheduleInput, webhookOf } from "./webhook-replies.ts";

const tag = "Webhooks";

const read = { auth: "session", permission: "webhooks:read", keyScopes: ["webhooks:read"] } as const;
const write = { auth: "session", permission: "webhooks:write", keyScopes: ["webhooks:write"] } as const;
const seen = { ...read, portal: "view" } as const;

const textIn = searchIn.meta({
  description: "Only records with a name or address that contains this text, ignoring case.",
});

const list = route({
  method: "GET",
  path: "/webhooks",
  access: seen,
  tag,
  summary: "Webhooks of one organization, newest first",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: "Required unless the caller belongs to one organization." }),
    status: webhookStatus.optional().meta({ description: only.equal }),
    search: textIn,
  }),
  reply: z.object({ data: z.array(listedWebhook), pagination }),
  errors: ["organization_context_required", "organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const { orgId = "", status = "", search = "" } = query;
    const wanted = { page: pageOf(query), orgId, status, search };
    const reply = await services.webhooks.listWebhooks(wanted, await rpc());
    return { data: reply.webhooks.map(listedWebhookOf), pagination: paginationOf(reply.page) };
  },
});

const listAll = route({
  method: "GET",
  path: "/webhooks/all",
  access: read,
  tag,
  summary: "Webhooks of every accessible organization, newest first",
  query: listQuery.extend({ status: webhookStatus.optional().meta({ description: only.equal }), search: textIn }),
  reply: z.object({ data: z.array(listedWebhook), pagination }),
  async handle({ query, rpc }, { services }) {
    const { status = "", search = "" } = query;
    const wanted = { page: pageOf(query), status, search, everywhere: true };
    const reply = await services.webhooks.listWebhooks(wanted, await rpc());
    return { data: reply.webhooks.map(listedWebhookOf), pagination: paginationOf(reply.page) };
  },
});

const create = route({
  method: "POST",
  path: "/webhooks",
  audit: "webhook.create",
  access: { ...write, portal: "manage_webhooks" },
  tag,
  summary: "Create a webhook",
  description:
    "The URL is checked now and before each delivery: HTTPS only, no local names, every address of the host public.",
  body: newWebhook,
  example: { orgId: exampleId, name: "Tickets", url: "https://example.com/hook", events: ["*"] },
  status: 201,
  idempotent: true,
  reply: webhook,
  errors: [
    "organization_context_required",
    "organization_not_found",
    "invalid_webhook_url",
    "unknown_event_type",
    "limit_reached",
    "permission_denied",
    "site_restricted",
  ],
  async handle(request, { services }) {
    const { body, rpc } = request;
    await checkRecipients(request, services, "notifyUserIds", body.notifyUserIds ?? []);
    const wanted = {
      orgId: body.orgId ?? "",
      name: body.name,
      url: body.url,
      secret: body.secret ?? "",
      events: body.events,
      headers: body.headers ?? [],
      ordered: body.ordered ?? false,
      retrySchedule: scheduleInput(body.retrySchedule),
      asymmetricSignature: body.asymmetricSignature ?? false,
      ...filterInput(body.filter),
      ...(body.notifyUserIds ? { notifiedUsers: { userIds: body.notifyUserIds } } : {}),
    };
    const reply = await services.webhooks.createWebhook(wanted, await rpc());
    return webhookOf(reply.webhook);
  },
});

const get = route({
  method: "GET",
  path: "/webhooks/:id",
  access: seen,
  tag,
  summary: "One webhook with its statistics and its health",
  params: idParams,
  reply: webhook.extend({ deliveryStats, health }),
  errors: ["webhook_not_found"],
  async handle({ params, rpc }, { services }) {
    const {
      webhook: found,
      stats,
      health: endpoint,
    } = await services.webhooks.getWebhook({ id: params.id }, await rpc());
    const counts = {
      total: Number(stats?.total ?? 0),
      pending: Number(stats?.pending ?? 0),
      delivered: Number(stats?.delivered ?? 0),
      failed: Number(stats?.failed ?? 0),
      retrying: Number(stats?.retrying ?? 0),
      lastDeliveredAt: timeOrNull(stats?.lastDeliveredAt),
    };
    return { ...webhookOf(found), deliveryStats: counts, health: healthOf(endpoint, found) };
  },
});

const update = route({
  method: "PATCH",
  path: "/webhooks/:id",
  audit: "webhook.update",
  access: { ...write, portal: "manage_webhooks" },
  tag,
  summary: "Change a webhook",
  description:
    "Takes effect with the next attempt, for queued deliveries too. A paused webhook keeps its queue; `active` resumes it. " +
    "With a URL of another scheme, host or port the request must include the secret and all header values, else 400 names them.",
  params: idParams,
  body: patch,
  example: { name: "Tickets" },
  reply: webhook,
  errors: [
    "no_updates",
    "webhook_not_found",
    "invalid_webhook_url",
    "unknown_event_type",
    "permission_denied",
    "site_restricted",
  ],
  async handle(request, { services }) {
    const { params, body, rpc } = request;
    await checkRecipients(request, services, "notifyUserIds", body.notifyUserIds ?? []);
    const change = {
      name: body.name ?? "",
      url: body.url ?? "",
      secret: body.secret ?? "",
      events: body.events ?? [],
      headers: body.headers ?? [],
      status: body.status ?? "",
      ordered: body.ordered ?? false,
      retrySchedule: scheduleInput(body.retrySchedule),
      asymmetricSignature: body.asymmetricSignature ?? false,
      ...filterInput(body.filter),
      ...(body.notifyUserIds ? { notifiedUsers: { userIds: body.notifyUserIds } } : {}),
    };
    const wanted = { id: params.id, updateMask: maskOf(body, webhookPaths), change };
    const reply = await services.webhooks.updateWebhook(wanted, await rpc());
    return webhookOf(reply.webhook);
  },
});

const remove = route({
  method: "DELETE",
  path: "/webhooks/:id",
  audit: "webhook.delete",
  access: { ...write, portal: "manage_webhooks" },
  tag,
  summary: "Delete a webhook and all its deliveries",
  description: "Nothing more is sent or shown after the reply; its deliveries are removed in the background.",
  params: idParams,
  reply: success,
  errors: ["webhook_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.webhooks.deleteWebhook({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

export const webhookRoutes: readonly Route[] = [list, listAll, create, get, update, remove];
