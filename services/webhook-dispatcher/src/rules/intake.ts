import { deliveryId } from "./envelope.ts";
import type { EventFilter } from "./event-filter.ts";
import type { Poster } from "./poster.ts";
import { keysOf, mayHoldAtHost, partnerRoom } from "./shares.ts";
import { subscribes } from "./subscription.ts";

/** An event, as it will be stored. */
export type IntakeEvent = {
  id: string;
  orgId: string;
  type: string;
  occurredAt: Date;
  body: string;
  poster: Poster;
  traceparent?: string | null;
};

/** An event of the stream; `seq` is its position there, 0 where that does not matter. */
export type MatchedEvent = IntakeEvent & { seq: number };

/**
 * Where events come from. A post leaves those that have to wait to the stream, the stream leaves them to the backlog,
 * and the backlog stores all.
 */
export type IntakeStage = "post" | "stream" | "backlog";

/** An organization as it was read. */
export type IntakeOrganization = {
  orgId: string;
  /** Empty when the organization is missing here and has no events. */
  partnerId: string;
  exists: boolean;
  /**
   * Its webhooks are locked: they stay as they were read until COMMIT. False while they are being changed, and where
   * nothing is leased.
   */
  held: boolean;
  /** It has events in the backlog; later ones do not overtake them. */
  backlogged: boolean;
  /** It had a webhook once: its events are kept without a subscriber, too. */
  keeps: boolean;
};

export type IntakeHook = {
  id: string;
  org_id: string;
  partner_id: string;
  host: string;
  events: string[];
  filter: EventFilter | null;
  ordered: boolean;
  generation: number;
  /** Leased requests, and their most. */
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
  /** Deliveries that this process may start now. */
  room: number;
  organizationConcurrency: number;
  hostConcurrency: number;
  /** Most open requests of this process. */
  openRequests: number;
  /** Most events of one organization in a batch. */
  perOrganization: number;
  /** Deliveries of one organization in a batch; beyond them no further event of it joins. */
  deliveriesPerOrganization: number;
  /** The same, of all organizations of a partner. */
  deliveriesPerPartner: number;
};

export type IntakeDelivery = { id: string; event: IntakeEvent; hook: IntakeHook; lease: boolean };
/** An event that no webhook gets now, and the partner of its organization. */
export type KeptEvent = { event: IntakeEvent; partnerId: string };
export type IntakePlan<E extends IntakeEvent = IntakeEvent> = {
  /** Deliveries in the order of their events; an event without a subscription has none. */
  deliveries: IntakeDelivery[];
  /** Events without a subscription that are stored. */
  kept: KeptEvent[];
  /** Events for the next stage. */
  later: E[];
  /** Some deliveries are not leased although their webhook has a free slot. */
  waiting: boolean;
  /** Webhooks without a free slot: their deliveries wait for a request to the same webhook to end. */
  blocked: Set<string>;
};

/**
 * Decides which deliveries are sent inline, which wait in the queue, and which events are left to the next stage: those
 * of organizations with an ordered webhook, a backlog or too many in this batch; of posts also those of organizations
 * with webhooks that are being changed, or no share left.
 */
export function planIntake<E extends IntakeEvent>(
  stage: IntakeStage,
  events: readonly E[],
  organizations: ReadonlyMap<string, IntakeOrganization>,
  hooks: readonly IntakeHook[],
  limits: IntakeLimits,
  inFlight: (key: string) => number,
): IntakePlan<E> {
  const byOrg = new Map<string, IntakeHook[]>();
  for (const hook of hooks) byOrg.set(hook.org_id, [...(byOrg.get(hook.org_id) ?? []), hook]);
  const ofOrg = new Counter((orgId) => sum(byOrg.get(orgId) ?? [], ({ leased }) => leased));
  const held = new Counter(inFlight);
  const ofHook = new Counter(() => 0);
  const ofBatch = new Counter(() => 0);
  const deliveriesOf = new Counter(() => 0);
  const plan: IntakePlan<E> = { deliveries: [], kept: [], later: [], waiting: false, blocked: new Set() };
  const seen = new Set<string>();
  let room = limits.room;
  for (const event of events) {
    const organization = organizations.get(event.orgId);
    const key = `${event.orgId}/${event.id}`;
    // Of repeats within the batch the first one counts.
    if (!organization || seen.has(key)) continue;
    seen.add(key);
    const own = byOrg.get(event.orgId) ?? [];
    const wanting = own.filter((hook) => subscribes(hook, event));
    const isChanging = stage === "post" && !organization.held;
    if (!isChanging && wanting.length === 0) {
      if (organization.keeps) plan.kept.push({ event, partnerId: organization.partnerId });
      continue;
    }
    const tooMany =
      ofBatch.add(event.orgId) > limits.perOrganization ||
      deliveriesOf.of(event.orgId) >= limits.deliveriesPerOrganization ||
      deliveriesOf.of(organization.partnerId) >= limits.deliveriesPerPartner ||
      (stage === "post" && ofOrg.of(event.orgId) >= limits.organizationConcurrency);
    const isLater = isChanging || organization.backlogged || tooMany || own.some(({ ordered }) => ordered);
    if (isLater && stage !== "backlog") {
      plan.later.push(event);
      continue;
    }
    for (const hook of wanting) {
      deliveriesOf.add(event.orgId);
      deliveriesOf.add(organization.partnerId);
      const mayGet = hook.closed && hook.leased + ofHook.of(hook.id) < hook.slots;
      const lease =
        organization.held &&
        mayGet &&
        !hook.waits &&
        room > 0 &&
        ofOrg.of(hook.org_id) < limits.organizationConcurrency &&
        mayHoldAtHost(limits.hostConcurrency, hook, (key) => held.of(key)) &&
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
