import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Bus, BusMessage } from "@muster/bus";
import { deadLetters } from "@muster/db";
import { counter, histogram, isEventType, isUuid, systemCaller } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { decode } from "@muster/rpc";
import {
  type BacklogDeps,
  deliveriesCounter,
  nothingSettled,
  perOrganization,
  startBacklog,
} from "../commands/backlog.ts";
import { mayEmit } from "../rules/emitters.ts";
import { envelopeBody, objectText, occurredAt } from "../rules/envelope.ts";
import { backlogged, type Floor, putAside } from "../store/backlog.ts";
import { type MatchedEvent, storeMatches, subscribersOf, wantedBy } from "../store/matches.ts";

export type MatcherDeps = BacklogDeps & {
  now: () => Date;
  retentionDays: number;
};

const service = "webhook-dispatcher";
const eventsCounter = counter("muster_webhook_events_total", "Events taken from the stream, by what became of them.", [
  "outcome",
]);
const asideCounter = counter(
  "muster_webhook_events_put_aside_total",
  "Events of organizations with very many at once.",
);
const batchSeconds = histogram("muster_webhook_match_seconds", "Duration of one batch of events.");

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
      onPoison: async (message, reason) => void (await letters.put(letterOf(message, reason))),
    },
    async (batch) => {
      const { now, aside } = await matchMessages(deps, batch);
      if (now > 0) backlog.yield();
      if (aside > 0) backlog.wake();
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
 * One batch in one transaction: unreadable messages to the dead letters, deliveries for the rest; of an organization
 * with very many events in it most go to the backlog. Returns how many were matched at once and how many went to the
 * backlog.
 */
export async function matchMessages(
  deps: MatcherDeps,
  batch: readonly BusMessage[],
): Promise<{ now: number; aside: number }> {
  const end = batchSeconds.startTimer();
  const letters = deadLetters(deps.db);
  const read = batch.map((message) => ({ message, ...readEvent(message, deps) }));
  // Repeats within the batch: the first one stands.
  const events = new Map<string, MatchedEvent>();
  for (const { event } of read) {
    if (event && !events.has(`${event.orgId}/${event.id}`)) events.set(`${event.orgId}/${event.id}`, event);
  }
  const { queued, ...counts } = await deps.db.tx({ caller: systemCaller(service) }, async (tx) => {
    for (const { message, reason } of read) {
      if (reason === null) continue;
      deps.log.error({ subject: message.subject, msgId: message.msgId, reason }, "event unreadable");
      await letters.put(letterOf(message, reason), tx);
    }
    const orgIds = [...new Set([...events.values()].map(({ orgId }) => orgId))];
    if (orgIds.length === 0) return { queued: 0, now: 0, aside: 0 };
    const [subscribers, behind] = await Promise.all([subscribersOf(tx, orgIds), backlogged(tx, orgIds)]);
    const inOrder = new Set(subscribers.filter(({ ordered }) => ordered).map((hook) => hook.org_id));
    // No event overtakes the backlog, and ordered events are ordered there.
    const { now, later } = share([...events.values()].filter(wantedBy(subscribers)), new Set([...behind, ...inOrder]));
    if (later.length > 0) await putAside(tx, later, inOrder);
    return { queued: await storeMatches(tx, now, subscribers), now: now.length, aside: later.length };
  });
  for (const { event, reason } of read) {
    eventsCounter.inc({ outcome: reason !== null ? "unreadable" : event ? "taken" : "foreign" });
  }
  deliveriesCounter.inc(queued);
  asideCounter.inc(counts.aside);
  end();
  if (queued > 0) deps.wake();
  return counts;
}

/** The first few events of each organization, and the rest; of those that are `behind` none at once. */
function share(
  events: readonly MatchedEvent[],
  behind: ReadonlySet<string>,
): { now: MatchedEvent[]; later: MatchedEvent[] } {
  const counts = new Map<string, number>();
  const now: MatchedEvent[] = [];
  const later: MatchedEvent[] = [];
  for (const event of events) {
    const count = (counts.get(event.orgId) ?? 0) + 1;
    counts.set(event.orgId, count);
    (count <= perOrganization && !behind.has(event.orgId) ? now : later).push(event);
  }
  return { now, later };
}

function letterOf({ subject, msgId, body, traceparent, deliveries }: BusMessage, reason: string) {
  return { subject, msgId, reason, body, traceparent, attempts: deliveries };
}

type Read = { event: MatchedEvent | null; reason: string | null };

/** What a message says; neither event nor reason for a type that this version does not know. */
export function readEvent(message: BusMessage, deps: Pick<MatcherDeps, "now" | "retentionDays">): Read {
  const unreadable = (reason: string): Read => ({ event: null, reason });
  try {
    const event = decode(PlatformEventSchema, message.body);
    const { id, orgId, type } = event;
    if (!isUuid(id) || !isUuid(orgId)) return unreadable("an id is no UUID");
    const [, emitter = ""] = message.subject.split(".", 2);
    if (message.subject !== `events.${emitter}.${orgId}.${type}`) return unreadable("subject and body differ");
    if (!isEventType(type)) return { event: null, reason: null };
    if (!mayEmit(emitter, type)) return unreadable(`${emitter} may not emit events of this type`);
    const dataJson = objectText(event.dataJson || "{}");
    if (dataJson === null) return unreadable("data is no JSON object of at most 65,536 bytes");
    const claimed = event.timestamp ? timestampDate(event.timestamp) : deps.now();
    const at = occurredAt(claimed, deps.now(), deps.retentionDays);
    const body = envelopeBody({ id, type, timestamp: claimed, orgId, dataJson });
    return {
      event: { id, orgId, type, occurredAt: at, body, seq: message.streamSeq, traceparent: message.traceparent },
      reason: null,
    };
  } catch (error) {
    return unreadable(`not decodable: ${(error as Error).message}`);
  }
}
