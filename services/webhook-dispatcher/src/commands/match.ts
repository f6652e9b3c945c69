import type { Database, Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { backlogged, putAside } from "../store/backlog.ts";
import { readIntake, storeIntake } from "../store/intake.ts";
import { type MatchedEvent, type Subscriber, storeMatches, subscribersOf, wantedBy } from "../store/matches.ts";
import { deliveriesPerOrganization, perOrganization } from "./backlog.ts";
import type { DirectSends } from "./direct.ts";
import { beginLeased, leasesOf, planOf } from "./direct-plan.ts";
import { type KnownOrganizations, storeAtOnce } from "./known-organizations.ts";

export type MatchDeps = {
  db: Database;
  known: KnownOrganizations;
  /** Null in a process that sends nothing: everything is queued. */
  sends: () => DirectSends | null;
  /** Called after deliveries were queued that others may send. */
  wake: () => void;
  endpointSlots: number;
};

/** Deliveries that were stored, events that were matched at once, and events that went to the backlog. */
export type Counts = { queued: number; now: number; aside: number };

/** What is posted waits for these transactions: a larger batch is queued, and claimed as its webhooks have room. */
const directEvents = 16;
/**
 * Deliveries of one partner in a batch, but for the last event's: half a second. Ten times as many end at the deadline
 * of a statement, and so would each repeat.
 */
const deliveriesPerPartner = 5_000;
const who = { caller: systemCaller("webhook-dispatcher") };

/**
 * Stores a small batch of events with their deliveries, leased to this process as far as their webhooks have room, and
 * has the requests begin when COMMIT returns. `left` are those that are still to be queued: all events of a larger
 * batch, of a process whose sender is claiming, or of one that sends nothing.
 */
export async function matchDirectly(
  deps: MatchDeps,
  events: readonly MatchedEvent[],
): Promise<Counts & { left: readonly MatchedEvent[] }> {
  const sends = deps.sends();
  const isDirect = sends?.isResting() && events.length > 0 && events.length <= directEvents && sends.room() > 0;
  if (!sends || !isDirect) return { left: events, queued: 0, now: 0, aside: 0 };
  return await sends.inTurn(async () => {
    const atOnce = await storeAtOnce(deps, who, events, sends, () => true);
    const stored = { now: events.length - atOnce.left.length, queued: atOnce.deliveries };
    if (atOnce.left.length === 0) return { ...stored, left: [], aside: 0 };
    const read = await storeRead(deps, atOnce.left, sends);
    return { ...read, now: stored.now + read.now, queued: stored.queued + read.queued };
  });
}

/** Reads the organizations first, in the transaction that stores their events. */
async function storeRead(deps: MatchDeps, events: readonly MatchedEvent[], sends: DirectSends) {
  const { plan, storedMs, stored, ...counts } = await deps.db.tx(who, (tx) => write(tx, deps, events, sends));
  const rows = await stored;
  if (beginLeased(plan, { stored: rows, storedMs }, sends) || counts.queued > 0) deps.wake();
  return { ...counts, queued: counts.queued + rows.length };
}

async function write(tx: Tx, deps: MatchDeps, events: readonly MatchedEvent[], sends: DirectSends) {
  const state = await readIntake(tx, [...new Set(events.map(({ orgId }) => orgId))], deps.endpointSlots);
  deps.known.learn(state);
  const plan = planOf(events, state, sends);
  // An organization that is not known here has no webhooks, or its first ones are just being created.
  const streamed = new Set<unknown>(plan.streamed);
  const left = events.filter((event) => streamed.has(event) || !state.places.has(event.orgId));
  const own = { plan, storedMs: performance.now(), now: events.length - left.length };
  if (plan.deliveries.length > 0) {
    await sends.open(
      tx,
      leasesOf(plan.deliveries).map(({ claim }) => claim),
    );
    const stored = storeIntake(tx, plan.deliveries, sends.limits.leaseMs);
    // Not awaited, so that COMMIT is sent together with it; a failure is reported by COMMIT.
    stored.catch(() => undefined);
    // The remaining events take another transaction: within one transaction keys of events are stored in one order.
    return { ...own, storedMs: performance.now(), stored, left, queued: 0, aside: 0 };
  }
  const behind = new Set(left.map(({ orgId }) => orgId).filter((orgId) => state.places.get(orgId)?.behind ?? true));
  const { queued, now, aside } = await storeQueued(tx, left, state.hooks, behind);
  return { ...own, stored: Promise.resolve([]), left: [], queued, now: own.now + now, aside };
}

/** Queues the first events of each organization for all senders; further ones go to the backlog. */
export async function matchQueued(tx: Tx, events: readonly MatchedEvent[]): Promise<Counts> {
  const orgIds = [...new Set(events.map(({ orgId }) => orgId))];
  if (orgIds.length === 0) return { queued: 0, now: 0, aside: 0 };
  const [subscribers, behind] = await Promise.all([subscribersOf(tx, orgIds), backlogged(tx, orgIds)]);
  return await storeQueued(tx, events, subscribers, behind);
}

async function storeQueued(
  tx: Tx,
  events: readonly MatchedEvent[],
  subscribers: readonly Subscriber[],
  behind: ReadonlySet<string>,
): Promise<Counts> {
  const inOrder = new Set(subscribers.filter(({ ordered }) => ordered).map((hook) => hook.org_id));
  // No event overtakes the backlog, and ordered events are ordered there.
  const wanted = events.filter(wantedBy(subscribers));
  const { now, later } = share(wanted, new Set([...behind, ...inOrder]), subscribers);
  if (later.length > 0) await putAside(tx, later, inOrder);
  return { queued: await storeMatches(tx, now, subscribers), now: now.length, aside: later.length };
}

/**
 * Splits events into those to queue now, the first few of each organization and partner, and those for the backlog;
 * organizations that are `behind` get none now.
 */
function share(
  events: readonly MatchedEvent[],
  behind: ReadonlySet<string>,
  subscribers: readonly Subscriber[],
): { now: MatchedEvent[]; later: MatchedEvent[] } {
  const webhooks = new Map<string, { count: number; partnerId: string }>();
  for (const { org_id: orgId, partner_id: partnerId } of subscribers) {
    webhooks.set(orgId, { count: (webhooks.get(orgId)?.count ?? 0) + 1, partnerId });
  }
  const counts = new Map<string, number>();
  const deliveries = new Map<string, number>();
  const now: MatchedEvent[] = [];
  const later: MatchedEvent[] = [];
  for (const event of events) {
    const { orgId } = event;
    const { count: wanting, partnerId } = webhooks.get(orgId) ?? { count: 0, partnerId: "" };
    const count = (counts.get(orgId) ?? 0) + 1;
    counts.set(orgId, count);
    const isFew =
      count <= perOrganization &&
      (deliveries.get(orgId) ?? 0) < deliveriesPerOrganization &&
      (deliveries.get(partnerId) ?? 0) < deliveriesPerPartner;
    if (!isFew || behind.has(orgId)) {
      later.push(event);
      continue;
    }
    now.push(event);
    for (const id of [orgId, partnerId]) deliveries.set(id, (deliveries.get(id) ?? 0) + wanting);
  }
  return { now, later };
}
