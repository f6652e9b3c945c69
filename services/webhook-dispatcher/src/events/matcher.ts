import { fromBinary } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Bus, BusMessage } from "@muster/bus";
import { type Database, deadLetters } from "@muster/db";
import { backoffMs, counter, histogram, isEventType, isUuid, type Logger, sleep, systemCaller } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { envelopeBody, objectText, occurredAt } from "../rules/envelope.ts";
import { backlogged, putAside, takeUp } from "../store/backlog.ts";
import { type MatchedEvent, storeMatches, subscribersOf, wantedBy } from "../store/matches.ts";

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
/** Events of one organization that one batch matches at once. */
const perOrganization = 50;
/** Between two rounds over what was put aside, and between looks when nothing is. */
const backlogGapMs = 10;
const backlogPollMs = 1_000;
const eventsCounter = counter("muster_webhook_events_total", "Events taken from the stream, by what became of them.", [
  "outcome",
]);
const deliveriesCounter = counter("muster_webhook_deliveries_queued_total", "Deliveries that events made.");
const asideCounter = counter(
  "muster_webhook_events_put_aside_total",
  "Events of organizations with very many at once.",
);
const batchSeconds = histogram("muster_webhook_match_seconds", "Duration of one batch of events.");

/** Turns events of the stream into deliveries of the webhooks that subscribed to them; repeats change nothing. */
export function startMatcher(bus: Pick<Bus, "consume">, deps: MatcherDeps): { stop(): Promise<void> } {
  const letters = deadLetters(deps.db);
  const backlog = startBacklog(deps);
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
      if ((await matchMessages(deps, batch)) > 0) backlog.wake();
    },
  );
  return {
    async stop() {
      await consumer.stop();
      await backlog.stop();
    },
  };
}

/**
 * One batch in one transaction: unreadable messages to the dead letters, deliveries for the rest; of an organization with very many events in it
 * most are put aside. Gives the number of those.
 */
export async function matchMessages(deps: MatcherDeps, batch: readonly BusMessage[]): Promise<number> {
  const end = batchSeconds.startTimer();
  const letters = deadLetters(deps.db);
  const read = batch.map((message) => ({ message, ...readEvent(message, deps) }));
  // Repeats within the batch: the first one stands.
  const events = new Map<string, MatchedEvent>();
  for (const { event } of read) {
    if (event && !events.has(`${event.orgId}/${event.id}`)) events.set(`${event.orgId}/${event.id}`, event);
  }
  let aside = 0;
  const queued = await deps.db.tx({ caller: systemCaller(service) }, async (tx) => {
    for (const { message, reason } of read) {
      if (reason === null) continue;
      deps.log.error({ subject: message.subject, msgId: message.msgId, reason }, "event unreadable");
      await letters.put(letterOf(message, reason), tx);
    }
    const orgIds = [...new Set([...events.values()].map(({ orgId }) => orgId))];
    if (orgIds.length === 0) return 0;
    const subscribers = await subscribersOf(tx, orgIds);
    // Behind what was put aside: an organization with an ordered webhook gets nothing past it.
    const inOrder = [...new Set(subscribers.filter(({ ordered }) => ordered).map((hook) => hook.org_id))];
    const behind = inOrder.length > 0 ? await backlogged(tx, inOrder) : new Set<string>();
    const { now, later } = share([...events.values()].filter(wantedBy(subscribers)), behind);
    if (later.length > 0) await putAside(tx, later);
    aside = later.length;
    return storeMatches(tx, now, subscribers);
  });
  for (const { event, reason } of read) {
    eventsCounter.inc({ outcome: reason !== null ? "unreadable" : event ? "taken" : "foreign" });
  }
  deliveriesCounter.inc(queued);
  asideCounter.inc(aside);
  end();
  if (queued > 0) deps.wake();
  return aside;
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

/** Takes up what was put aside, a few events of each organization at a time. */
export async function takeUpBacklog(deps: MatcherDeps): Promise<number> {
  const { taken, queued } = await deps.db.tx({ caller: systemCaller(service) }, async (tx) => {
    const events = await takeUp(tx, perOrganization, deps.batchEvents);
    if (events.length === 0) return { taken: 0, queued: 0 };
    const subscribers = await subscribersOf(tx, [...new Set(events.map(({ orgId }) => orgId))]);
    return { taken: events.length, queued: await storeMatches(tx, events, subscribers) };
  });
  deliveriesCounter.inc(queued);
  if (queued > 0) deps.wake();
  return taken;
}

function startBacklog(deps: MatcherDeps): { wake(): void; stop(): Promise<void> } {
  const stopping = new AbortController();
  let ring: () => void = () => undefined;
  const run = async () => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        const taken = await takeUpBacklog(deps);
        failures = 0;
        if (taken > 0) {
          await sleep(backlogGapMs, stopping.signal);
          continue;
        }
      } catch (err) {
        deps.log.warn({ err }, "events put aside cannot be taken up now");
        await sleep(backoffMs(failures++, 100, 5_000), stopping.signal);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, backlogPollMs);
        ring = () => {
          clearTimeout(timer);
          resolve();
        };
        if (stopping.signal.aborted) ring();
      });
    }
  };
  const running = run();
  return {
    wake: () => ring(),
    async stop() {
      stopping.abort();
      ring();
      await running;
    },
  };
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
