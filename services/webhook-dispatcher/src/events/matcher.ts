import { fromBinary } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Bus, BusMessage } from "@muster/bus";
import { type Database, deadLetters } from "@muster/db";
import { counter, histogram, isEventType, isUuid, type Logger, systemCaller } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { envelopeBody, objectText, occurredAt } from "../rules/envelope.ts";
import { type MatchedEvent, storeMatches, subscribersOf } from "../store/matches.ts";

export type MatcherDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  batchEvents: number;
  retentionDays: number;
  /** Called after deliveries were queued. */
  wake: () => void;
};

const service = "webhook-dispatcher";
const eventsCounter = counter("muster_webhook_events_total", "Events taken from the stream, by what became of them.", [
  "outcome",
]);
const deliveriesCounter = counter("muster_webhook_deliveries_queued_total", "Deliveries that events made.");
const batchSeconds = histogram("muster_webhook_match_seconds", "Duration of one batch of events.");

/** Turns events of the stream into deliveries of the webhooks that subscribed to them; repeats change nothing. */
export function startMatcher(bus: Pick<Bus, "consume">, deps: MatcherDeps): { stop(): Promise<void> } {
  const letters = deadLetters(deps.db);
  return bus.consume(
    {
      stream: "EVENTS",
      durable: "webhook-matcher",
      filterSubject: "events.>",
      maxAckPending: 5_000,
      batchMax: deps.batchEvents,
      batchBytes: 4_194_304,
      maxDeliver: 10,
      onPoison: async (message, reason) => void (await letters.put(letterOf(message, reason))),
    },
    (batch) => matchMessages(deps, batch),
  );
}

/** One batch in one transaction: unreadable messages to the dead letters, deliveries for the rest. */
export async function matchMessages(deps: MatcherDeps, batch: readonly BusMessage[]): Promise<void> {
  const end = batchSeconds.startTimer();
  const letters = deadLetters(deps.db);
  const read = batch.map((message) => ({ message, ...readEvent(message, deps) }));
  // Repeats within the batch: the first one stands.
  const events = new Map<string, MatchedEvent>();
  for (const { event } of read) {
    if (event && !events.has(`${event.orgId}/${event.id}`)) events.set(`${event.orgId}/${event.id}`, event);
  }
  const queued = await deps.db.tx({ caller: systemCaller(service) }, async (tx) => {
    for (const { message, reason } of read) {
      if (reason === null) continue;
      deps.log.error({ subject: message.subject, msgId: message.msgId, reason }, "event unreadable");
      await letters.put(letterOf(message, reason), tx);
    }
    const orgIds = [...new Set([...events.values()].map(({ orgId }) => orgId))];
    if (orgIds.length === 0) return 0;
    return storeMatches(tx, [...events.values()], await subscribersOf(tx, orgIds));
  });
  for (const { event, reason } of read) {
    eventsCounter.inc({ outcome: reason !== null ? "unreadable" : event ? "taken" : "foreign" });
  }
  deliveriesCounter.inc(queued);
  end();
  if (queued > 0) deps.wake();
}

function letterOf({ subject, msgId, body, traceparent, deliveries }: BusMessage, reason: string) {
  return { subject, msgId, reason, body, traceparent, attempts: deliveries };
}

type Read = { event: MatchedEvent | null; reason: string | null };

/** What a message says; neither event nor reason for a type that this version does not know. */
export function readEvent(message: BusMessage, deps: Pick<MatcherDeps, "now" | "retentionDays">): Read {
  const unreadable = (reason: string): Read => ({ event: null, reason });
  try {
    const event = fromBinary(PlatformEventSchema, message.body);
    const { id, orgId, type } = event;
    if (!isUuid(id) || !isUuid(orgId)) return unreadable("an id is no UUID");
    if (message.subject !== `events.${orgId}.${type}`) return unreadable("subject and body differ");
    if (!isEventType(type)) return { event: null, reason: null };
    const dataJson = objectText(event.dataJson || "{}");
    if (dataJson === null) return unreadable("data is no JSON object of at most 65,536 bytes");
    const claimed = event.timestamp ? timestampDate(event.timestamp) : deps.now();
    const at = occurredAt(claimed, deps.now(), deps.retentionDays);
    const body = envelopeBody({ id, type, timestamp: claimed, orgId, dataJson });
    return { event: { id, orgId, type, occurredAt: at, body }, reason: null };
  } catch (error) {
    return unreadable(`not decodable: ${(error as Error).message}`);
  }
}
