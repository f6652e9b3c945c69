import type { Tx } from "@muster/db";
import {
  type IntakeDelivery,
  type IntakeEvent,
  type IntakePlan,
  type IntakeStage,
  planIntake,
} from "../rules/intake.ts";
import { type IntakeState, type StoredDelivery, storeIntake } from "../store/intake.ts";
import type { InlineLease, InlineSends } from "./inline.ts";

/** Events of one organization that one batch stores. */
export const perOrganization = 50;
/**
 * Deliveries of one organization that one batch stores, but for the last event's: with a hundred webhooks fifty events
 * are five thousand, and half a second for all other events of the batch, and of later ones.
 */
export const deliveriesPerOrganization = 250;
/**
 * Deliveries of one partner in a batch, but for the last event's. Others' posts wait for the first; 5,000 take half a
 * second, and ten times as many exceed the deadline of a statement, and so would each repeat.
 */
const deliveriesPerPartner = { post: 1_000, stream: 5_000, backlog: Number.MAX_SAFE_INTEGER };

/** Plans each event by the free slots of this process and of the webhooks; without `sends` nothing is leased. */
export function planOf<E extends IntakeEvent>(
  stage: IntakeStage,
  events: readonly E[],
  { organizations, hooks }: IntakeState,
  sends: InlineSends | null,
): IntakePlan<E> {
  const room = sends?.room() ?? 0;
  // A process that sends nothing leases nothing; other processes count their own slots.
  const {
    organizationConcurrency = Number.MAX_SAFE_INTEGER,
    hostConcurrency = 0,
    openRequests = 0,
  } = sends?.limits ?? {};
  const shares = { perOrganization, deliveriesPerOrganization, deliveriesPerPartner: deliveriesPerPartner[stage] };
  const limits = { room, organizationConcurrency, hostConcurrency, openRequests, ...shares };
  return planIntake(stage, events, organizations, hooks, limits, (key) => sends?.inFlight(key) ?? 0);
}

/** What a transaction stores, when its last statement left, and what that returns. */
export type StoredPlan<E extends IntakeEvent> = {
  plan: IntakePlan<E>;
  storedMs: number;
  stored: Promise<StoredDelivery[]>;
};

/** Stores what is planned. `stored` is not awaited: COMMIT is sent together with it, and reports its failure. */
export async function storePlan<E extends IntakeEvent>(
  tx: Tx,
  plan: IntakePlan<E>,
  sends: InlineSends | null,
): Promise<StoredPlan<E>> {
  const claims = leasesOf(plan.deliveries).map(({ claim }) => claim);
  await sends?.open(tx, claims);
  const isAny = plan.deliveries.length + plan.kept.length > 0;
  const stored = isAny ? storeIntake(tx, plan, sends?.limits.leaseMs ?? 0) : Promise.resolve([]);
  stored.catch(() => undefined);
  return { plan, storedMs: performance.now(), stored };
}

/** Starts the requests of all leased deliveries; true when further ones wait for any sender. */
export function startLeased(
  plan: IntakePlan,
  { stored, storedMs }: { stored: readonly StoredDelivery[]; storedMs: number },
  sends: InlineSends | null,
): boolean {
  const isLeased = new Map(stored.map((row) => [row.delivery_id, row.leased]));
  const planned = leasesOf(plan.deliveries);
  sends?.start(
    planned.filter(({ claim }) => isLeased.get(claim.delivery_id)),
    storedMs,
  );
  if (plan.blocked.size > 0) sends?.noteBlocked(plan.blocked);
  // Another process took slots of the webhook meanwhile.
  return plan.waiting || planned.some(({ claim }) => isLeased.get(claim.delivery_id) === false);
}

/** The deliveries to be leased to this process, with their payloads. */
function leasesOf(deliveries: readonly IntakeDelivery[]): InlineLease[] {
  return deliveries
    .filter(({ lease }) => lease)
    .map(({ id, event, hook }) => ({
      claim: {
        delivery_id: id,
        created_at: event.occurredAt,
        webhook_id: hook.id,
        org_id: hook.org_id,
        partner_id: hook.partner_id,
        event_id: event.id,
        host: hook.host,
        attempt: 1,
        failures: 0,
        interruptions: 0,
        was_leased: false,
        generation: hook.generation,
      },
      payload: { type: event.type, body: event.body, traceparent: event.traceparent ?? null, poster: event.poster },
    }));
}
