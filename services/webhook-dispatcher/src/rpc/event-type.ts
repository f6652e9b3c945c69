import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, uuidv7 } from "@muster/kit";
import {
  type EventType,
  EventTypeChangeSchema,
  EventTypeSchema,
  EventTypeService,
} from "@muster/proto/muster/webhook/v1/event_type_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, changesBetween, checkedBefore, idempotentTx, type TenantReader } from "@muster/service";
import type { Schemas } from "../commands/slow-schemas.ts";
import { changeEventType, type EventTypeFields, newEventType } from "../rules/event-type.ts";
import {
  countEventTypes,
  type EventTypeRow,
  insertEventType,
  listEventTypes,
  lockEventType,
  updateEventType,
} from "../store/event-types.ts";
import { holdOrganization } from "../store/webhooks.ts";
import { listedOrganization, organizationOf, requireReader, requireWriter } from "./guards.ts";

export type EventTypeDeps = TenantReader & {
  now: () => Date;
  schemas: Schemas;
  /** Most own types of one organization. */
  eventTypesPerOrganization: number;
};

/** Own types of organizations (docs/webhooks.md#own-event-types). */
export function eventTypeService(deps: EventTypeDeps): ServiceImpl<typeof EventTypeService> {
  const { db, now, schemas, eventTypesPerOrganization: limit } = deps;
  return {
    async createEventType(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const { type } = request;
      const tenant = await organizationOf(deps, context, request.orgId);
      const wanted = request.fields ?? create(EventTypeChangeSchema);
      const fields = newEventType(type, wanted, (json) => schemas.compile(tenant.orgId, json));
      const owner = { ...tenant, createdBy: context.caller.actor.id };
      const at = now();
      const { createEventType } = EventTypeService.method;
      return idempotentTx(db, context, createEventType, request, checkedBefore, async (tx) => {
        await holdOrganization(tx, tenant.orgId);
        const count = await countEventTypes(tx, tenant.orgId);
        const row = await insertEventType(tx, uuidv7(at.getTime()), owner, type, fields, at);
        if (!row) throw new AppError("event_type_exists", "The organization has this event type");
        if (count >= limit) {
          throw new AppError("limit_reached", "The organization's limit of event types is reached", {
            facts: { limit },
          });
        }
        const details = { changes: { before: {}, after: eventTypeFields(row) } };
        record(tx, context, row, "webhook_event_type.create", details, at);
        return { eventType: messageOf(row) };
      });
    },

    async updateEventType({ orgId: named, type, updateMask, change }, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const { orgId } = await organizationOf(deps, context, named);
      const at = now();
      const updated = await db.tx(context, async (tx) => {
        const stored = await lockEventType(tx, orgId, type);
        const wanted = change ?? create(EventTypeChangeSchema);
        if (!stored) throw new AppError("event_type_not_found", "Event type not found");
        const compile = (json: string) => schemas.compile(orgId, json);
        const fields = changeEventType(eventTypeFields(stored), updateMask?.paths ?? [], wanted, compile);
        const row = await updateEventType(tx, stored.id, fields, at);
        record(tx, context, row, "webhook_event_type.update", changesBetween(eventTypeFields(stored), fields), at);
        return row;
      });
      return { eventType: messageOf(updated) };
    },

    async listEventTypes({ orgId: named }, handler) {
      const context = callContext(handler);
      requireReader(context);
      const orgId = await listedOrganization(deps, context, named);
      return { eventTypes: (await listEventTypes(db, context, orgId)).map(messageOf) };
    },
  };
}

function eventTypeFields({ description, schema, version, example, archived }: EventTypeRow): EventTypeFields {
  return { description, schema, version, example, archived };
}

function messageOf(row: EventTypeRow): EventType {
  return create(EventTypeSchema, {
    id: row.id,
    orgId: row.org_id,
    type: row.type,
    description: row.description,
    schemaJson: row.schema ?? "",
    version: row.version ?? "",
    exampleJson: row.example ?? "",
    archived: row.archived,
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}

function record(tx: Tx, context: CallContext, row: EventTypeRow, action: string, details: object, at: Date): void {
  const resource = { type: "webhook_event_type", id: row.id, name: row.type };
  const fact = { action, resource, orgId: row.org_id, partnerId: row.partner_id, details: { ...details } };
  tx.emit(auditEvent("webhook-dispatcher", context, fact, at));
}
