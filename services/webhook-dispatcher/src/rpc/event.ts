import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, isEventType, isUuid, uuidv7, validationError } from "@muster/kit";
import { EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx, platformEvent } from "@muster/service";
import { objectText } from "../rules/envelope.ts";
import { organizationOf, type Reach, requireWriter } from "./guards.ts";

/** Events from parts of the platform that live elsewhere: in the outbox before the answer. */
export function eventService(deps: Reach & { now: () => Date }): ServiceImpl<typeof EventService> {
  return {
    async publish(request, handler) {
      const context = callContext(handler);
      // Services of the platform publish as themselves (libs/rpc/src/issuers.ts says which).
      if (context.caller.actor.type !== "system") requireWriter(context, "events:write");
      const { type } = request;
      if (!isEventType(type)) {
        throw new AppError("unknown_event_type", "Unknown event type", { facts: { types: [type.slice(0, 100)] } });
      }
      const dataJson = request.dataJson === "" ? "{}" : objectText(request.dataJson);
      if (dataJson === null) throw validationError({ data: ["A JSON object of at most 65,536 bytes"] });
      if (request.id !== "" && !isUuid(request.id)) throw validationError({ id: ["Must be a UUID"] });
      const { orgId, partnerId } = await organizationOf(deps, context, request.orgId);
      const at = deps.now();
      const id = request.id.toLowerCase() || uuidv7(at.getTime());
      return idempotentTx(deps.db, context, EventService.method.publish, request, async (tx) => {
        const data = JSON.parse(dataJson) as Record<string, unknown>;
        tx.emit(
          platformEvent("webhook-dispatcher", { type, orgId, partnerId, data, id }, context.meta.traceparent, at),
        );
        return { id };
      });
    },
  };
}
