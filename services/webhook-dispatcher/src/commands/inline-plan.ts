import { type IntakeDelivery, type IntakeEvent, type IntakePlan, planIntake } from "../rules/intake.ts";
import type { IntakeState, StoredDelivery } from "../store/intake.ts";
import { deliveriesPerOrganization, perOrganization } from "./backlog.ts";
import type { InlineLease, InlineSends } from "./inline.ts";

/** Deliveries of one partner in a transaction, but for the last event's: others' posts wait for it. */
const deliveriesPerPartner = 1_000;

/** Plans each event by the free slots of this process and of the webhooks. */
export function planOf(events: readonly IntakeEvent[], state: IntakeState, sends: InlineSends | null): IntakePlan {
  const { organizations, hooks } = state;
  const room = sends?.room() ?? 0;
  // A process that sends nothing leases nothing; other processes count their own slots.
  const {
    organizationConcurrency = Number.MAX_SAFE_INTEGER,
    hostConcurrency = 0,
    openRequests = 0,
  } = sends?.limits ?? {};
  const shares = { perOrganization, deliveriesPerOrganization, deliveriesPerPartner };
  const limits = { room, organizationConcurrency, hostConcurrency, openRequests, ...shares };
  return planIntake(events, organizations, hooks, limits, (key) => sends?.inFlight(key) ?? 0);
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
export function leasesOf(deliveries: readonly IntakeDelivery[]): InlineLease[] {
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
