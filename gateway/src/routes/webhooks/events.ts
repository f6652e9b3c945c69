import { postedEventTypes } from "@muster/kit";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { exampleId, id, idOut, objectIn } from "../fields/schemas.ts";
import { eventNameIn } from "./event-names.ts";

const publish = route({
  method: "POST",
  path: "/events",
  access: { auth: "session", permission: "events:write", keyScopes: ["events:write"] },
  tag: "Events",
  summary: "Emit an event to an organization's webhooks",
  description:
    "For other parts of the platform. Stored before the reply is sent; an `id` that the organization has sent before changes nothing. " +
    "While deliveries wait for over two seconds, 503 or 429 with `Retry-After`.",
  body: z.object({
    type: eventNameIn(postedEventTypes).min(1).meta({
      description: "As `GET /webhooks/event-types` describes them, or an own type, whose schema `data` must meet.",
      example: "alert.triggered",
    }),
    orgId: id.optional().meta({ description: "Required unless the caller belongs to one organization." }),
    id: id.optional().meta({ description: "Id of the event, chosen by the emitter; without it, one is generated." }),
    data: objectIn.meta({ description: "At most 64 KiB of JSON. Sent to webhooks as it was posted." }),
  }),
  opaque: "data",
  example: { type: "alert.triggered", orgId: exampleId, data: { name: "Disk full" } },
  bodyLimitBytes: 96 * 1024,
  status: 202,
  idempotent: true,
  load: "ingest",
  reply: z.object({ id: idOut }),
  errors: [
    "organization_context_required",
    "organization_not_found",
    "unknown_event_type",
    "site_restricted",
    "rate_limited",
    "overloaded",
  ],
  async handle({ body, opaqueJson: dataJson, rpc }, { services }) {
    const wanted = { type: body.type, orgId: body.orgId ?? "", id: body.id ?? "", dataJson };
    return { id: (await services.events.publish(wanted, await rpc())).id };
  },
});

export const eventRoutes: readonly Route[] = [publish];
