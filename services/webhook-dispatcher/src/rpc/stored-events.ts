import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext, clampPage, isUuid, type Page, validationError } from "@muster/kit";
import { type Event, EventSchema, type EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { callContext } from "@muster/rpc";
import type { TenantReader } from "@muster/service";
import { dataOf } from "../rules/envelope.ts";
import { callerOf, sourceOf } from "../rules/poster.ts";
import { type DeliveryStatus, listDeliveries } from "../store/deliveries.ts";
import {
  deliveriesOfEvent,
  type EventKey,
  type EventRow,
  eventKeys,
  findEvent,
  listEvents,
  webhookIdsOf,
} from "../store/events.ts";
import { visibleOrganizations } from "../store/tenants.ts";
import { statusFilter } from "./delivery.ts";
import { deliveryMessage } from "./delivery-message.ts";
import { eventNotFound, listedOrganization, requireDeliveryReader } from "./guards.ts";

type Handlers = ServiceImpl<typeof EventService>;

/** Deliveries in the record of an event. */
const shownDeliveries = clampPage({ limit: 100, skipCount: true });

/** What is stored of events, for whoever may read their deliveries. */
export function storedEvents(reader: TenantReader): Pick<Handlers, "listEvents" | "getEvent" | "listEventDeliveries"> {
  const { db } = reader;

  return {
    async listEvents({ page, orgId: named, type, from, to, id }, handler) {
      const context = callContext(handler);
      requireDeliveryReader(context);
      if (id !== "" && !isUuid(id)) throw validationError({ id: ["Must be a UUID"] });
      const orgId = await listedOrganization(reader, context, named);
      const [only = null] = id === "" ? [] : await eventKeys(db, [orgId], id);
      const range = { from: from ? timestampDate(from) : null, to: to ? timestampDate(to) : null };
      const none = id !== "" && only === null ? { id, orgId, occurredAt: new Date(0) } : only;
      const filter = { orgId, type: type || null, ...range, only: none };
      const { rows, info } = await listEvents(db, context, filter, clampPage(page ?? {}));
      return { events: rows.map(eventMessage), page: info };
    },

    async getEvent({ id, orgId }, handler) {
      const context = callContext(handler);
      const event = await foundEvent(reader, context, id, orgId);
      const { rows } = await deliveriesTo(reader, context, event, null, shownDeliveries);
      return { event: eventMessage(event), deliveries: rows.map(deliveryMessage) };
    },

    async listEventDeliveries({ id, orgId, page, status }, handler) {
      const context = callContext(handler);
      const wanted = statusFilter(status);
      const event = await foundEvent(reader, context, id, orgId);
      const { rows, info } = await deliveriesTo(reader, context, event, wanted, clampPage(page ?? {}));
      return { deliveries: rows.map(deliveryMessage), page: info };
    },
  };
}

/**
 * An event in the caller's scope. Throws `event_not_found`, and `organization_context_required` when several
 * organizations have chosen its id.
 */
async function foundEvent(reader: TenantReader, context: CallContext, id: string, named: string): Promise<EventRow> {
  requireDeliveryReader(context);
  if (!isUuid(id)) throw eventNotFound();
  const [key, another] = await eventKeys(reader.db, await organizationsOf(reader, context, named), id);
  if (another) throw new AppError("organization_context_required", "Organization context required");
  const event = key ? await findEvent(reader.db, context, key) : null;
  if (!event) throw eventNotFound();
  return event;
}

async function organizationsOf(reader: TenantReader, context: CallContext, named: string): Promise<string[]> {
  const { scope, orgId } = context.caller;
  if (named !== "") return [await listedOrganization(reader, context, named)];
  return scope === "organization" ? [orgId ?? ""] : visibleOrganizations(reader.db, context);
}

async function deliveriesTo(
  { db }: TenantReader,
  context: CallContext,
  { id, org_id: orgId, created_at: occurredAt }: EventRow,
  status: DeliveryStatus | null,
  page: Page,
) {
  const key: EventKey = { id, orgId, occurredAt };
  const ofEvent = deliveriesOfEvent(key, await webhookIdsOf(db, context, orgId));
  const any = { webhookId: null, event: null, from: null, to: null, answer: null };
  return listDeliveries(db, context, { ...any, ofEvent, status }, page);
}

function eventMessage(row: EventRow): Event {
  const caller = callerOf(row.poster);
  return create(EventSchema, {
    id: row.id,
    orgId: row.org_id,
    type: row.type,
    timestamp: timestampFromDate(row.created_at),
    dataJson: dataOf(row.body),
    source: sourceOf(row.poster) ?? "",
    postedByType: caller?.type ?? "",
    postedById: caller?.id ?? "",
  });
}
