import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CallContext,
  isCustomEventType,
  isEventType,
  isUuid,
  postedEventTypes,
  uuidv7,
  validationError,
} from "@muster/kit";
import { EventService, type PublishRequest } from "@muster/proto/muster/webhook/v1/event_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, platformEvent, type TenantReader } from "@muster/service";
import type { Intake } from "../commands/intake.ts";
import type { IntakeThrottle } from "../commands/intake-throttle.ts";
import { type OwnEvents, unknownEventType } from "../commands/own-events.ts";
import { envelopeBody, isObjectText } from "../rules/envelope.ts";
import { posterOf } from "../rules/poster.ts";
import { isPartnerInScope, namedOrganization, organizationNotFound, organizationOf, requireWriter } from "./guards.ts";
import { storedEvents } from "./stored-events.ts";

export type EventDeps = TenantReader & {
  now: () => Date;
  intake: Intake;
  throttle: Pick<IntakeThrottle, "admit">;
  own: OwnEvents;
};

/** Events of organizations: those posted by other programs are stored with their deliveries before the answer. */
export function eventService(deps: EventDeps): ServiceImpl<typeof EventService> {
  return {
    ...storedEvents(deps),

    async publish(request, handler) {
      const context = callContext(handler);
      // Services of the platform publish as themselves (libs/rpc/src/caller/issuers.ts).
      if (context.caller.actor.type !== "system") requireWriter(context, "events:write");
      const event = readEvent(request, deps.now());
      const poster = posterOf(context.caller.actor);
      const orgId = namedOrganization(context, request.orgId);
      await deps.throttle.admit(orgId);
      if (isCustomEventType(event.type)) await deps.own.check(context, { ...event, orgId });
      // The stored reply is part of the emitting transaction.
      if (context.meta.idempotencyKey) return publishOnce(deps, context, request, event);
      const { id, type, at } = event;
      const body = envelopeBody({ id, type, timestamp: at, orgId, dataJson: event.dataJson });
      const { traceparent } = context.meta;
      const inScope = (partnerId: string) => isPartnerInScope(context.caller, partnerId);
      const accepted = { id, orgId, type, occurredAt: at, body, poster, traceparent, inScope };
      if (!(await deps.intake.accept(accepted))) {
        // Finds an organization that was just created, and refuses an unknown one.
        await organizationOf(deps, context, orgId);
        if (!(await deps.intake.accept(accepted))) throw organizationNotFound();
      }
      return { id };
    },
  };
}

type PostedEvent = { id: string; type: Parameters<typeof platformEvent>[1]["type"]; dataJson: string; at: Date };

function postedType(type: string): PostedEvent["type"] {
  if (isCustomEventType(type) || (isEventType(type) && postedEventTypes.includes(type))) return type;
  throw unknownEventType([type]);
}

/** Reads a posted event. Throws `unknown_event_type`, `validation_failed`. */
function readEvent(request: PublishRequest, at: Date): PostedEvent {
  const type = postedType(request.type);
  const dataJson = request.dataJson || "{}";
  if (!isObjectText(dataJson)) throw validationError({ data: ["A JSON object of at most 65,536 bytes"] });
  if (request.id !== "" && !isUuid(request.id)) throw validationError({ id: ["Must be a UUID"] });
  return { id: request.id.toLowerCase() || uuidv7(at.getTime()), type, dataJson, at };
}

async function publishOnce(deps: EventDeps, context: CallContext, request: PublishRequest, event: PostedEvent) {
  const { orgId, partnerId } = await organizationOf(deps, context, request.orgId);
  const { id, type, dataJson, at } = event;
  return idempotentTx(deps.db, context, EventService.method.publish, request, checkedBefore, async (tx) => {
    const fact = { type, orgId, partnerId, data: dataJson, id, postedBy: posterOf(context.caller.actor) };
    tx.emit(platformEvent("webhook-dispatcher", fact, context.meta.traceparent, at));
    return { id };
  });
}
