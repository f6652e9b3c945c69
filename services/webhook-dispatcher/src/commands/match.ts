import type { Database, Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { addToBacklog, type QueuedOrganizations, queuedOrganizations } from "../store/backlog.ts";
import { readIntake, storeIntake } from "../store/intake.ts";
import { type MatchedEvent, type Subscriber, storeMatches, subscribersOf, wantedBy } from "../store/matches.ts";
import { deliveriesPerOrganization, perOrganization } from "./backlog.ts";
import type { InlineSends } from "./inline.ts";
import { leasesOf, planOf, startLeased } from "./inline-plan.ts";

export type MatchDeps = {
  db: Database;
  /** Null in a process that sends nothing: everything is queued. */
  sends: () => InlineSends | null;
  /** Called after deliveries were queued that others may send. */
  wake: () => void;
  webhookConcurrency: number;
};

/** Numbers of deliveries stored, of events matched, and of events added to the backlog. */
export type Counts = { queued: number; matched: number; backlogged: number };

/** Posted events wait for these transactions: a larger batch is queued, and claimed as its webhooks have free slots. */
const inlineEvents = 16;
/**
 * Deliveries of one partner in a batch, but for the last event's: half a second. Ten times as many exceed the deadline
 * of a statement, and so would each repeat.
 */
const deliveriesPerPartner = 5_000;
const who = { caller: systemCaller("webhook-dispatcher") };

/**
 * Stores a small batch of events with their deliveries, leased to this process as far as their webhooks have free
 * slots, and starts the requests when COMMIT returns. `left` are the events still to be queued: all of a larger batch,
 * or of a process that is claiming or sends nothing.
 */
export async function matchInline(
  deps: MatchDeps,
  events: readonly MatchedEvent[],
): Promise<Counts & { left: readonly MatchedEvent[] }> {
  const sends = deps.sends();
  const isInline = sends?.isIdle() && events.length > 0 && events.length <= inlineEvents && sends.room() > 0;
  if (!sends || !isInline) return { left: events, queued: 0, matched: 0, backlogged: 0 };
  return await sends.exclusively(() => store(deps, events, sends));
}

/** Reads the organizations first, in the transaction that stores their events. */
async function store(deps: MatchDeps, events: readonly MatchedEvent[], sends: InlineSends) {
  const { plan, storedMs, stored, ...counts } = await deps.db.tx(who, (tx) => write(tx, deps, events, sends));
  const rows = await stored;
  if (startLeased(plan, { stored: rows, storedMs }, sends) || counts.queued > 0) deps.wake();
  return { ...counts, queued: counts.queued + rows.length };
}

async function write(tx: Tx, deps: MatchDeps, events: readonly MatchedEvent[], sends: InlineSends) {
  const state = await readIntake(tx, [...new Set(events.map(({ orgId }) => orgId))], deps.webhookConcurrency);
  const plan = planOf(events, state, sends);
  // An organization that is missing here has no webhooks, or its first ones are just being created.
  const streamed = new Set<unknown>(plan.streamed);
  const left = events.filter((event) => streamed.has(event) || !state.organizations.has(event.orgId));
  const own = { plan, storedMs: performance.now(), matched: events.length - left.length };
  if (plan.deliveries.length + plan.kept.length > 0) {
    await sends.open(
      tx,
      leasesOf(plan.deliveries).map(({ claim }) => claim),
    );
    const stored = storeIntake(tx, plan, sends.limits.leaseMs);
    // Not awaited, so that COMMIT is sent together with it; a failure is reported by COMMIT.
    stored.catch(() => undefined);
    // The remaining events take another transaction: within one transaction keys of events are stored in one order.
    return { ...own, storedMs: performance.now(), stored, left, queued: 0, backlogged: 0 };
  }
  const { organizations } = state;
  const waiting = new Set(left.map(({ orgId }) => orgId).filter((id) => organizations.get(id)?.backlogged ?? true));
  const keeping = new Map(
    [...organizations].filter(([, { keeps }]) => keeps).map(([id, each]) => [id, each.partnerId]),
  );
  const { queued, matched, backlogged } = await storeQueued(tx, left, state.hooks, { waiting, keeping });
  return { ...own, stored: Promise.resolve([]), left: [], queued, matched: own.matched + matched, backlogged };
}

/** Queues the first events of each organization for all senders; further ones go to the backlog. */
export async function matchQueued(tx: Tx, events: readonly MatchedEvent[]): Promise<Counts> {
  const orgIds = [...new Set(events.map(({ orgId }) => orgId))];
  if (orgIds.length === 0) return { queued: 0, matched: 0, backlogged: 0 };
  const [subscribers, organizations] = await Promise.all([subscribersOf(tx, orgIds), queuedOrganizations(tx, orgIds)]);
  return await storeQueued(tx, events, subscribers, organizations);
}

async function storeQueued(
  tx: Tx,
  events: readonly MatchedEvent[],
  subscribers: readonly Subscriber[],
  { waiting, keeping }: QueuedOrganizations,
): Promise<Counts> {
  const inOrder = new Set(subscribers.filter(({ ordered }) => ordered).map((hook) => hook.org_id));
  // No event overtakes the backlog, and ordered events are ordered there.
  const isWanted = wantedBy(subscribers);
  const wanted = events.filter((event) => isWanted(event) || keeping.has(event.orgId));
  const { now, later } = share(wanted, new Set([...waiting, ...inOrder]), subscribers);
  if (later.length > 0) await addToBacklog(tx, later, inOrder);
  return { queued: await storeMatches(tx, now, subscribers, keeping), matched: now.length, backlogged: later.length };
}

/**
 * Splits events into those to queue now, the first few of each organization and partner, and those for the backlog;
 * organizations in `waiting` get none now.
 */
function share(
  events: readonly MatchedEvent[],
  waiting: ReadonlySet<string>,
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
    if (!isFew || waiting.has(orgId)) {
      later.push(event);
      continue;
    }
    now.push(event);
    for (const id of [orgId, partnerId]) deliveries.set(id, (deliveries.get(id) ?? 0) + wanting);
  }
  return { now, later };
}
