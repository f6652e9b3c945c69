import { deliveryId } from "./envelope.ts";
import type { Poster } from "./poster.ts";
import { keysOf, mayHoldAtHost, partnerRoom } from "./shares.ts";
import { anyEvent } from "./webhook.ts";

/** A posted event, as it will be stored. */
export type IntakeEvent = {
  id: string;
  orgId: string;
  type: string;
  occurredAt: Date;
  body: string;
  poster: Poster;
  traceparent?: string | null;
};

/** What is known of an organization while its webhooks cannot change. */
export type IntakePlace = {
  orgId: string;
  partnerId: string;
  /** Its webhooks are not being changed just now: what was read of them is true until COMMIT. */
  held: boolean;
  /** Some of its events are in the backlog; later ones do not overtake them. */
  behind: boolean;
};

export type IntakeHook = {
  id: string;
  org_id: string;
  partner_id: string;
  host: string;
  events: string[];
  ordered: boolean;
  generation: number;
  /** Differs after any change of its row. */
  version: string;
  /** Requests that are leased now, and how many may be. */
  leased: number;
  slots: number;
  /** Its breaker lets requests through. */
  closed: boolean;
  /**
   * A delivery of it is due, a retry included, and not leased: a claim may be leasing that, and nothing overtakes it.
   */
  waits: boolean;
};

export type IntakeLimits = {
  /** Deliveries that this process may begin now. */
  room: number;
  organizationSlots: number;
  hostSlots: number;
  /** Requests that this process may have open. */
  openRequests: number;
  /** Events of one organization in a batch. */
  perOrganization: number;
  /** Deliveries of one organization in a batch, beyond which no further event of it joins. */
  deliveriesPerOrganization: number;
  /** The same, of all organizations of a partner. */
  deliveriesPerPartner: number;
};

export type IntakeDelivery = { id: string; event: IntakeEvent; hook: IntakeHook; lease: boolean };
export type IntakePlan = {
  /** Deliveries in the order of their events; an event without a subscription has none. */
  deliveries: IntakeDelivery[];
  /** Events that go over the stream. */
  streamed: IntakeEvent[];
  /** Deliveries that are not leased although their webhook may get a request. */
  waiting: boolean;
  /** Webhooks without a free slot whose deliveries wait for an answer of their own receiver. */
  blocked: Set<string>;
};

/**
 * Which deliveries are sent at once, which wait in the queue, and which events go over the stream: those of
 * organizations whose order must be kept, whose webhooks are being changed, or that have more under way than their
 * share.
 */
export function planIntake(
  events: readonly IntakeEvent[],
  places: ReadonlyMap<string, IntakePlace>,
  hooks: readonly IntakeHook[],
  limits: IntakeLimits,
  underWay: (key: string) => number,
): IntakePlan {
  const byOrg = new Map<string, IntakeHook[]>();
  for (const hook of hooks) byOrg.set(hook.org_id, [...(byOrg.get(hook.org_id) ?? []), hook]);
  const ofOrg = new Counter((orgId) => sum(byOrg.get(orgId) ?? [], ({ leased }) => leased));
  const held = new Counter(underWay);
  const ofHook = new Counter(() => 0);
  const ofBatch = new Counter(() => 0);
  const deliveriesOf = new Counter(() => 0);
  const plan: IntakePlan = { deliveries: [], streamed: [], waiting: false, blocked: new Set() };
  let room = limits.room;
  for (const event of events) {
    const place = places.get(event.orgId);
    const own = byOrg.get(event.orgId) ?? [];
    const wanting = own.filter(({ events: types }) => types[0] === anyEvent || types.includes(event.type));
    if (!place || (place.held && wanting.length === 0)) continue;
    const tooMany =
      ofBatch.add(event.orgId) > limits.perOrganization ||
      deliveriesOf.of(event.orgId) >= limits.deliveriesPerOrganization ||
      deliveriesOf.of(place.partnerId) >= limits.deliveriesPerPartner ||
      ofOrg.of(event.orgId) >= limits.organizationSlots;
    if (!place.held || place.behind || tooMany || own.some(({ ordered }) => ordered)) {
      plan.streamed.push(event);
      continue;
    }
    for (const hook of wanting) {
      deliveriesOf.add(event.orgId);
      deliveriesOf.add(place.partnerId);
      const mayGet = hook.closed && hook.leased + ofHook.of(hook.id) < hook.slots;
      const lease =
        mayGet &&
        !hook.waits &&
        room > 0 &&
        ofOrg.of(hook.org_id) < limits.organizationSlots &&
        mayHoldAtHost(limits.hostSlots, hook, (key) => held.of(key)) &&
        partnerRoom(limits.openRequests, hook.partner_id, (key) => held.of(key)) > 0;
      plan.deliveries.push({ id: deliveryId(hook.id, event.orgId, event.id), event, hook, lease });
      if (lease) {
        room -= 1;
        ofOrg.add(hook.org_id);
        ofHook.add(hook.id);
        for (const key of keysOf(hook)) held.add(key);
      } else if (mayGet) plan.waiting = true;
      else if (hook.closed) plan.blocked.add(hook.id);
    }
  }
  return plan;
}

class Counter {
  readonly #counts = new Map<string, number>();
  readonly #first: (key: string) => number;
  constructor(first: (key: string) => number) {
    this.#first = first;
  }
  of(key: string): number {
    return this.#counts.get(key) ?? this.#first(key);
  }
  add(key: string): number {
    const count = this.of(key) + 1;
    this.#counts.set(key, count);
    return count;
  }
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
