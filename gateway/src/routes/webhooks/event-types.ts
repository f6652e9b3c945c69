import { eventTypes } from "@muster/kit";
import type { EventType } from "@muster/proto/muster/webhook/v1/event_type_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import { exampleId, exampleTime, id, objectIn, timeOf } from "../fields/schemas.ts";
import { eventNameIn } from "./event-names.ts";
import { eventTypeOf } from "./event-type-examples.ts";
import { eventType, ownEventType, typeSource } from "./webhook-fields.ts";

const tag = "Webhooks";

const read = { auth: "session", permission: "webhooks:read", keyScopes: ["webhooks:read"] } as const;
const write = { auth: "session", permission: "webhooks:write", keyScopes: ["webhooks:write"] } as const;

const orgId = id.optional().meta({ description: "Required unless the caller belongs to one organization." });

const list = route({
  method: "GET",
  path: "/webhooks/event-types",
  access: { ...read, portal: "view" },
  tag,
  summary: "Event types that a webhook can subscribe to, each with a description and an example",
  query: z.object({
    source: typeSource.optional().meta({
      description: "Only types of this source; `custom` are the organization's own, which the whole list leaves out.",
    }),
    orgId: id.optional().meta({
      description: "With `source=custom`, required unless the caller belongs to one organization.",
    }),
  }),
  reply: z.object({ data: z.array(eventType) }),
  errors: ["organization_context_required", "organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const { source, orgId: named = "" } = query;
    if (source === "custom") {
      const { eventTypes: own } = await services.eventTypes.listEventTypes({ orgId: named }, await rpc());
      return { data: own.map(ownTypeOf) };
    }
    const all = eventTypes.map(eventTypeOf);
    return { data: source === undefined ? all : all.filter((each) => each.source === source) };
  },
});

const type = eventNameIn([]).min(1).meta({
  description: "`custom.` and segments of lower-case letters, digits and underscores.",
  example: "custom.order_shipped",
});
const description = z.string().trim().min(1).max(1_000);
const schema = objectIn.nullish().meta({
  description:
    "JSON Schema (2020-12) of `data`, at most 16 KiB and 20 levels, without `format` checks; null: any object.",
});
const version = z.string().trim().max(50).nullish();
const example = objectIn.nullish().meta({ description: "`data` of an example, which the schema must accept." });
const archived = z.boolean().optional().meta({ description: "Events of it are refused." });

const create = route({
  method: "POST",
  path: "/webhooks/event-types",
  audit: "webhook_event_type.create",
  access: write,
  tag,
  summary: "Define an event type of the organization",
  body: z.object({ orgId, type, description, schema, version, example, archived }),
  example: { orgId: exampleId, type: "custom.order_shipped", description: "An order has left the warehouse." },
  status: 201,
  idempotent: true,
  reply: ownEventType,
  errors: [
    "organization_context_required",
    "organization_not_found",
    "event_type_exists",
    "limit_reached",
    "site_restricted",
  ],
  async handle({ body, rpc }, { services }) {
    const wanted = { orgId: body.orgId ?? "", type: body.type, fields: changeOf(body) };
    return recordOf((await services.eventTypes.createEventType(wanted, await rpc())).eventType);
  },
});

const paths = {
  description: "description",
  schema: "schema",
  version: "version",
  example: "example",
  archived: "archived",
};

const update = route({
  method: "PATCH",
  path: "/webhooks/event-types",
  audit: "webhook_event_type.update",
  access: write,
  tag,
  summary: "Change an event type of the organization",
  description: "The type in the body names it. Takes effect with the next posted event; subscriptions stay.",
  body: z.object({ orgId, type, description: description.optional(), schema, version, example, archived }),
  example: { orgId: exampleId, type: "custom.order_shipped", archived: true },
  reply: ownEventType,
  errors: [
    "no_updates",
    "organization_context_required",
    "organization_not_found",
    "event_type_not_found",
    "site_restricted",
  ],
  async handle({ body, rpc }, { services }) {
    const change = changeOf(body);
    const wanted = { orgId: body.orgId ?? "", type: body.type, updateMask: maskOf(body, paths), change };
    return recordOf((await services.eventTypes.updateEventType(wanted, await rpc())).eventType);
  },
});

type Fields = {
  description?: string | undefined;
  schema?: object | null | undefined;
  version?: string | null | undefined;
  example?: object | null | undefined;
  archived?: boolean | undefined;
};

const textOf = (value: object | null | undefined) => (value ? JSON.stringify(value) : "");

const changeOf = (body: Fields) => ({
  description: body.description ?? "",
  schemaJson: textOf(body.schema),
  version: body.version ?? "",
  exampleJson: textOf(body.example),
  archived: body.archived ?? false,
});

function recordOf(message: EventType | undefined): z.input<typeof ownEventType> {
  if (!message) throw new Error("the dispatcher answered without an event type");
  const { id: own, orgId: of, createdBy, createdAt, updatedAt } = message;
  return {
    ...ownTypeOf(message),
    ...{ id: own, orgId: of, createdBy, createdAt: timeOf(createdAt), updatedAt: timeOf(updatedAt) },
  };
}

/** An own type as the catalogue shows one: with a body as a receiver gets it. */
function ownTypeOf(message: EventType): z.input<typeof eventType> {
  const { type: name, schemaJson, exampleJson } = message;
  const data = objectOf(exampleJson) ?? {};
  return {
    type: name,
    group: "custom",
    description: message.description,
    source: "custom",
    schema: objectOf(schemaJson),
    version: message.version || null,
    archived: message.archived,
    example: { id: exampleId, type: name, timestamp: exampleTime, orgId: message.orgId, data },
  };
}

const objectOf = (json: string): Record<string, unknown> | null =>
  json === "" ? null : objectIn.parse(JSON.parse(json));

export const eventTypeRoutes: readonly Route[] = [list, create, update];
