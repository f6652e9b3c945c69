import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Bus, BusMessage } from "@muster/bus";
import { deadLetters } from "@muster/db";
import { counter, histogram, isCustomEventType, isEventType, isUuid, messageOf, systemCaller } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { decode } from "@muster/rpc";
import { type BacklogDeps, deliveriesCounter, nothingSettled, startBacklog } from "../commands/backlog.ts";
import { type Counts, type MatchDeps, matchInline, matchQueued } from "../commands/match.ts";
import { mayEmit } from "../rules/emitters.ts";
import { envelopeBody, isObjectText, occurredAt } from "../rules/envelope.ts";
import { posterOfMessage } from "../rules/poster.ts";
import type { Floor } from "../store/backlog.ts";
import type { MatchedEvent } from "../store/matches.ts";

export type MatcherDeps = BacklogDeps &
  MatchDeps & {
    now: () => Date;
    retentionDays: number;
  };

const service = "webhook-dispatcher";
const nothing: Counts = { queued: 0, matched: 0, backlogged: 0 };
const eventsCounter = counter(
  "muster_webhook_dispatcher_events_matched_total",
  "Events consumed from the stream, by outcome.",
  ["outcome"],
);
const backloggedCounter = counter(
  "muster_webhook_dispatcher_events_backlogged_total",
  "Events put in the backlog: of organizations with a burst, a backlog or an ordered webhook.",
);
const batchSeconds = histogram("muster_webhook_dispatcher_match_duration_seconds", "Duration of one batch of events.");

/** Turns events of the stream into deliveries of the webhooks that subscribed to them; repeats change nothing. */
export function startMatcher(bus: Pick<Bus, "consume">, deps: MatcherDeps): { stop(): Promise<void> } {
  const letters = deadLetters(deps.db);
  let floor: () => Promise<Floor> = async () => nothingSettled;
  const backlog = startBacklog(deps, () => floor());
  const consumer = bus.consume(
    {
      stream: "EVENTS",
      durable: "webhook-matcher",
      filterSubject: "events.>",
      maxAckPending: 5_000,
      batchMax: deps.batchEvents,
      batchBytes: 4_194_304,
      maxDeliver: 10,
      onDeadLetter: async (message, reason) => void (await letters.put(letterOf(message, reason))),
    },
    async (batch) => {
      const { matched, backlogged } = await matchMessages(deps, batch);
      if (matched > 0) backlog.yield();
      if (backlogged > 0) backlog.wake();
    },
  );
  floor = () => consumer.floor();
  return {
    async stop() {
      await consumer.stop();
      await backlog.stop();
    },
  };
}

/**
 * Sends the deliveries that `matchInline` takes, queues the others for all senders, and stores unreadable messages as
 * dead letters; of an organization with very many events in the batch most go to the backlog. Returns the numbers of
 * events that were matched and backlogged.
 */
export async function matchMessages(
  deps: MatcherDeps,
  batch: readonly BusMessage[],
): Promise<{ matched: number; backlogged: number }> {
  const end = batchSeconds.startTimer();
  const read = batch.map((message) => ({ message, ...readEvent(message, deps) }));
  const unreadable = read.flatMap(({ message, reason }) => (reason === null ? [] : [{ message, reason }]));
  // Of repeats within the batch the first one counts.
  const events = new Map<string, MatchedEvent>();
  for (const { event } of read) {
    if (event && !events.has(`${event.orgId}/${event.id}`)) events.set(`${event.orgId}/${event.id}`, event);
  }
  const all = [...events.values()];
  const inline = unreadable.length === 0 ? await matchInline(deps, all) : { left: all, ...nothing };
  const queued = inline.left.length + unreadable.length > 0 ? await queue(deps, inline.left, unreadable) : nothing;
  for (const { event, reason } of read) {
    eventsCounter.inc({ outcome: reason !== null ? "unreadable" : event ? "taken" : "foreign" });
  }
  const backlogged = inline.backlogged + queued.backlogged;
  deliveriesCounter.inc(inline.queued + queued.queued);
  backloggedCounter.inc(backlogged);
  end();
  if (queued.queued > 0) deps.wake();
  return { matched: inline.matched + queued.matched, backlogged };
}

/** Queues events and stores dead letters in one transaction. */
async function queue(
  deps: MatcherDeps,
  events: readonly MatchedEvent[],
  unreadable: readonly { message: BusMessage; reason: string }[],
): Promise<Counts> {
  const letters = deadLetters(deps.db);
  return await deps.db.tx({ caller: systemCaller(service) }, async (tx) => {
    for (const { message, reason } of unreadable) {
      deps.log.error({ subject: message.subject, msgId: message.msgId, reason }, "event unreadable");
      await letters.put(letterOf(message, reason), tx);
    }
    return await matchQueued(tx, events);
  });
}

function letterOf({ subject, msgId, body, traceparent, deliveries }: BusMessage, reason: string) {
  return { subject, msgId, reason, body, traceparent, attempts: deliveries };
}

type Read = { event: MatchedEvent | null; reason: string | null };

/** The event of a message, or the reason why it is unreadable; neither for a type unknown to this version. */
export function readEvent(message: BusMessage, deps: Pick<MatcherDeps, "now" | "retentionDays">): Read {
  const unreadable = (reason: string): Read => ({ event: null, reason });
  try {
    const event = decode(PlatformEventSchema, message.body);
    const { id, orgId, type } = event;
    if (!isUuid(id) || !isUuid(orgId)) return unreadable("an id is no UUID");
    const [, emitter = ""] = message.subject.split(".", 2);
    if (message.subject !== `events.${emitter}.${orgId}.${type}`) return unreadable("subject and body differ");
    if (!isEventType(type) && !isCustomEventType(type)) return { event: null, reason: null };
    if (!mayEmit(emitter, type)) return unreadable(`${emitter} may not emit events of this type`);
    const dataJson = event.dataJson || "{}";
    if (!isObjectText(dataJson)) return unreadable("data is no JSON object of at most 65,536 bytes");
    const claimed = event.timestamp ? timestampDate(event.timestamp) : deps.now();
    const at = occurredAt(claimed, deps.now(), deps.retentionDays);
    const body = envelopeBody({ id, type, timestamp: claimed, orgId, dataJson });
    const { streamSeq: seq, traceparent } = message;
    const poster = posterOfMessage(emitter, event.postedBy);
    return { event: { id, orgId, type, occurredAt: at, body, poster, seq, traceparent }, reason: null };
  } catch (error) {
    return unreadable(`not decodable: ${messageOf(error)}`);
  }
}
