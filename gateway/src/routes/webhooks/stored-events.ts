import type { Event } from "@muster/proto/muster/webhook/v1/event_pb";
import { z } from "zod";
import { Rendered } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { renderedPage, withOpaque } from "../fields/opaque.ts";
import {
  id,
  idOut,
  idParams,
  listQuery,
  objectOut,
  only,
  pageOf,
  pagination,
  paginationOf,
  timeIn,
  timeOf,
  timeOut,
  timestampOf,
} from "../fields/schemas.ts";
import { delivery, deliveryStatus, postedBy, sentType, source } from "./delivery-fields.ts";
import { deliveryText, emitterOf } from "./delivery-replies.ts";

const read = { auth: "session", permission: "webhooks:read", keyScopes: ["webhooks:read"] } as const;
const tag = "Events";

const event = z
  .object({
    id: idOut.meta({ description: "Sent as `X-Service-Event-Id`." }),
    orgId: idOut,
    type: z.string(),
    timestamp: timeOut,
    source: source.nullable().meta({
      description: "Whether Muster emitted the event or a caller posted it; null when an earlier version stored it.",
    }),
    postedBy: postedBy.nullable().meta({ description: "The caller who posted the event." }),
    data: objectOut.meta({ description: "As it was posted." }),
  })
  .meta({ id: "WebhookEvent" });

const list = route({
  method: "GET",
  path: "/events",
  access: read,
  tag,
  summary: "Stored events of one organization, newest first",
  description: "Events are kept for WEBHOOK_RETENTION_DAYS. They are stored for organizations that ever had a webhook.",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: "Required unless the caller belongs to one organization." }),
    type: sentType.optional().meta({ description: only.equal, example: "device.offline" }),
    id: id.optional().meta({ description: only.equal }),
    from: timeIn.optional().meta({ description: "Only events of this time or later." }),
    to: timeIn.optional().meta({ description: "Only events before this time." }),
  }),
  reply: z.object({ data: z.array(event), pagination }),
  errors: ["organization_context_required", "organization_not_found", "site_restricted"],
  async handle({ query, rpc }, { services }) {
    const wanted = {
      page: pageOf(query),
      orgId: query.orgId ?? "",
      type: query.type ?? "",
      id: query.id ?? "",
      from: timestampOf(query.from),
      to: timestampOf(query.to),
    };
    const reply = await services.events.listEvents(wanted, await rpc());
    return renderedPage(
      reply.events.map((each) => eventText(each)),
      paginationOf(reply.page),
    );
  },
});

const ofOrganization = z.object({
  orgId: id.optional().meta({
    description: "Required where several organizations in the caller's access scope have an event with this id.",
  }),
});

const get = route({
  method: "GET",
  path: "/events/:id",
  access: read,
  tag,
  summary: "One event with its deliveries to every webhook",
  params: idParams,
  query: ofOrganization,
  reply: event.extend({ deliveries: z.array(delivery).meta({ description: "The newest 100." }) }),
  errors: ["event_not_found", "organization_context_required", "organization_not_found", "site_restricted"],
  async handle({ params, query, rpc }, { services }) {
    const reply = await services.events.getEvent({ id: params.id, orgId: query.orgId ?? "" }, await rpc());
    const deliveries = reply.deliveries.map((each) => deliveryText(each));
    return new Rendered(`${eventText(reply.event).slice(0, -1)},"deliveries":[${deliveries.join(",")}]}`);
  },
});

const deliveriesOf = route({
  method: "GET",
  path: "/events/:id/deliveries",
  access: read,
  tag,
  summary: "Deliveries of an event to every webhook, newest first",
  params: idParams,
  query: listQuery.extend({
    ...ofOrganization.shape,
    status: deliveryStatus.optional().meta({ description: only.equal }),
  }),
  reply: z.object({ data: z.array(delivery), pagination }),
  errors: ["event_not_found", "organization_context_required", "organization_not_found", "site_restricted"],
  async handle({ params, query, rpc }, { services }) {
    const { orgId = "", status = "" } = query;
    const wanted = { id: params.id, orgId, status, page: pageOf(query) };
    const reply = await services.events.listEventDeliveries(wanted, await rpc());
    return renderedPage(
      reply.deliveries.map((each) => deliveryText(each)),
      paginationOf(reply.page),
    );
  },
});

/** The JSON of an event. */
function eventText(message: Event | undefined): string {
  if (!message) throw new Error("the dispatcher answered without an event");
  const { id: own, orgId, type, timestamp } = message;
  const shown = { id: own, orgId, type, timestamp: timeOf(timestamp), ...emitterOf(message) };
  return withOpaque(shown, "data", message.dataJson);
}

export const storedEventRoutes: readonly Route[] = [list, get, deliveriesOf];
