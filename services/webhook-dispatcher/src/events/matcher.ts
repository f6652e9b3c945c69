import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Bus, BusMessage } from "@muster/bus";
import { deadLetters } from "@muster/db";
import { counter, histogram, isCustomEventType, isEventType, isUuid, messageOf, systemCaller } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { decode } from "@muster/rpc";
import { type BacklogDeps, deliveriesCounter, nothingSettled, startBacklog } from "../commands/backlog.ts";
import { type Counts, type MatchDeps, matchEvents } from "../commands/match.ts";
import { mayEmit } from "../rules/emitters.ts";
import { envelopeBody, isObjectText, occurredAt } from "../rules/envelope.ts";
import type { MatchedEvent } from "../rules/intake.ts";
import { posterOfMessage } from "../rules/poster.ts";
import type { Floor } from "../store/backlog.ts";

export type MatcherDeps = BacklogDeps &
  MatchDeps & {
    now: () => Date;
    retentionDays: number;
  };

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
 * Stores the events of messages with their deliveries, and unreadable messages as dead letters. Returns the numbers of
 * events that were matched and backlogged.
 */
export async function matchMessages(deps: MatcherDeps, batch: readonly BusMessage[]): Promise<Counts> {
  const end = batchSeconds.startTimer();
  const read = batch.map((message) => ({ message, ...readEvent(message, deps) }));
  const counts = await matchEvents(
    deps,
    read.flatMap(({ event }) => event ?? []),
  );
  const unreadable = read.flatMap(({ message, reason }) => (reason === null ? [] : [{ message, reason }]));
  if (unreadable.length > 0) await storeLetters(deps, unreadable);
  for (const { event, reason } of read) {
    eventsCounter.inc({ outcome: reason !== null ? "unreadable" : event ? "taken" : "foreign" });
  }
  deliveriesCounter.inc(counts.queued);
  backloggedCounter.inc(counts.backlogged);
  end();
  return counts;
}

async function storeLetters({ db, log }: MatcherDeps, unreadable: readonly { message: BusMessage; reason: string }[]) {
  const letters = deadLetters(db);
  await db.tx({ caller: systemCaller("webhook-dispatcher") }, async (tx) => {
    for (const { message, reason } of unreadable) {
      log.error({ subject: message.subject, msgId: message.msgId, reason }, "event unreadable");
      await letters.put(letterOf(message, reason), tx);
    }
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
