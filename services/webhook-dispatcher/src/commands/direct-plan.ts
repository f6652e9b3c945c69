import { type IntakeDelivery, type IntakeEvent, type IntakePlan, planIntake } from "../rules/intake.ts";
import type { IntakeState, StoredDelivery } from "../store/intake.ts";
import { deliveriesPerOrganization, perOrganization } from "./backlog.ts";
import type { DirectLease, DirectSends } from "./direct.ts";

/** Deliveries of one partner in a transaction, but for the last event's: others' posts wait for it. */
const deliveriesPerPartner = 1_000;

/** Plans each event by the number of requests that this process and the webhooks may have under way. */
export function planOf(events: readonly IntakeEvent[], state: IntakeState, sends: DirectSends | null): IntakePlan {
  const { places, hooks } = state;
  const room = sends?.room() ?? 0;
  // A process that sends nothing leases nothing; other processes count what they may send.
  const { organizationSlots = Number.MAX_SAFE_INTEGER, hostSlots = 0, openRequests = 0 } = sends?.limits ?? {};
  const shares = { perOrganization, deliveriesPerOrganization, deliveriesPerPartner };
  const limits = { room, organizationSlots, hostSlots, openRequests, ...shares };
  return planIntake(events, places, hooks, limits, (key) => sends?.underWay(key) ?? 0);
}

/**
 * Has the requests of all deliveries begin that were leased; true when further ones wait for any sender. Those of
 * webhooks that are `full` wait for an answer of their own receiver.
 */
export function beginLeased(
  plan: IntakePlan,
  { stored, storedMs, full = new Set() }: { stored: readonly StoredDelivery[]; storedMs: number; full?: Set<string> },
  sends: DirectSends | null,
): boolean {
  const isLeased = new Map(stored.map((row) => [row.delivery_id, row.leased]));
  const planned = leasesOf(plan.deliveries);
  sends?.begin(
    planned.filter(({ claim }) => isLeased.get(claim.delivery_id)),
    storedMs,
  );
  if (plan.blocked.size + full.size > 0) sends?.noteBlocked([...plan.blocked, ...full]);
  // Another process took slots of the webhook meanwhile.
  const isRefused = ({ claim }: DirectLease) => isLeased.get(claim.delivery_id) === false;
  return plan.waiting || planned.some((lease) => isRefused(lease) && !full.has(lease.claim.webhook_id));
}

/** The deliveries that are to be leased to this process, with their payloads. */
export function leasesOf(deliveries: readonly IntakeDelivery[]): DirectLease[] {
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
