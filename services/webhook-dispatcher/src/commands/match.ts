import type { Database } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { MatchedEvent } from "../rules/intake.ts";
import { addToBacklog } from "../store/backlog.ts";
import { readIntake } from "../store/intake.ts";
import type { InlineSends } from "./inline.ts";
import { planOf, startLeased, storePlan } from "./intake-plan.ts";

export type MatchDeps = {
  db: Database;
  /** Null in a process that sends nothing: everything is queued. */
  sends: () => InlineSends | null;
  /** Called after deliveries were queued that others may send. */
  wake: () => void;
  webhookConcurrency: number;
};

/** Numbers of deliveries stored, of events stored, and of events added to the backlog. */
export type Counts = { queued: number; matched: number; backlogged: number };

/** Posted events wait for these transactions: a larger batch is queued, and claimed as its webhooks have free slots. */
const inlineEvents = 16;
const who = { caller: systemCaller("webhook-dispatcher") };

/**
 * Stores events of the stream with their deliveries, and adds those that have to wait to the backlog. A small batch is
 * leased to this process as far as its webhooks have free slots, and its requests start when COMMIT returns; a larger
 * one, or one of a process that is claiming or sends nothing, is queued for all senders.
 */
export async function matchEvents(deps: MatchDeps, events: readonly MatchedEvent[]): Promise<Counts> {
  if (events.length === 0) return { queued: 0, matched: 0, backlogged: 0 };
  const sends = deps.sends();
  const isInline = sends?.isIdle() && events.length <= inlineEvents && sends.room() > 0;
  if (!sends || !isInline) return await store(deps, events, null);
  return await sends.exclusively(() => store(deps, events, sends));
}

async function store(
  { db, wake, webhookConcurrency }: MatchDeps,
  events: readonly MatchedEvent[],
  sends: InlineSends | null,
): Promise<Counts> {
  const orgIds = [...new Set(events.map(({ orgId }) => orgId))];
  const { plan, stored, storedMs } = await db.tx(who, async (tx) => {
    const state = await readIntake(tx, orgIds, sends && webhookConcurrency);
    const plan = planOf("stream", events, state, sends);
    const inOrder = new Set(state.hooks.filter(({ ordered }) => ordered).map((hook) => hook.org_id));
    if (plan.later.length > 0) await addToBacklog(tx, plan.later, inOrder);
    return await storePlan(tx, plan, sends);
  });
  const rows = await stored;
  const isWaiting = startLeased(plan, { stored: rows, storedMs }, sends);
  if (isWaiting || (!sends && rows.length > 0)) wake();
  const matched = new Set(plan.deliveries.map(({ event }) => event)).size + plan.kept.length;
  return { queued: rows.length, matched, backlogged: plan.later.length };
}
