import type { Database, Who } from "@muster/db";
import { counter, gauge } from "@muster/kit";
import type { IntakeEvent, IntakeHook, IntakePlace } from "../rules/intake.ts";
import type { IntakeState } from "../store/intake.ts";
import { type KnownOrganization, storeKnown, versionOf } from "../store/known-intake.ts";
import type { DirectSends } from "./direct.ts";
import { beginLeased, leasesOf, planOf } from "./direct-plan.ts";

type Known = { place: IntakePlace; hooks: IntakeHook[]; version: string };

/**
 * Organizations at rest as this process last read them. What is planned from it counts only if it is still true when
 * it is stored (`storeKnown`).
 */
export type KnownOrganizations = {
  /** Null unless all of them are known. */
  of(orgIds: Iterable<string>): { state: IntakeState; organizations: KnownOrganization[] } | null;
  learn(state: IntakeState): void;
  forget(orgId: string): void;
};

/** Organizations and webhooks that a process remembers, together. */
const mostKnown = 20_000;

const knownGauge = gauge(
  "muster_webhook_dispatcher_cached_organizations",
  "Organizations at rest that this process remembers.",
);
const changedCounter = counter(
  "muster_webhook_dispatcher_cached_organizations_stale_total",
  "Organizations that were not as this process remembered them when an event came.",
);

export function createKnownOrganizations(most = mostKnown): KnownOrganizations {
  /** The least recently used one first. */
  const known = new Map<string, Known>();
  let size = 0;
  const forget = (orgId: string) => {
    size -= sizeOf(known.get(orgId));
    known.delete(orgId);
  };
  const remember = (orgId: string, each: Known) => {
    forget(orgId);
    known.set(orgId, each);
    size += sizeOf(each);
  };
  return {
    of(orgIds) {
      const state: IntakeState = { places: new Map(), hooks: [] };
      const organizations: KnownOrganization[] = [];
      for (const orgId of orgIds) {
        const each = known.get(orgId);
        if (!each) return null;
        remember(orgId, each);
        state.places.set(orgId, each.place);
        state.hooks.push(...each.hooks);
        organizations.push({ orgId, version: each.version });
      }
      return { state, organizations };
    },
    learn({ places, hooks }) {
      const byOrg = new Map<string, IntakeHook[]>([...places.keys()].map((orgId) => [orgId, []]));
      for (const hook of hooks) byOrg.get(hook.org_id)?.push(hook);
      for (const [orgId, place] of places) {
        const own = byOrg.get(orgId) ?? [];
        if (!isAtRest(place, own)) continue;
        // Whatever is leased now is counted when deliveries are stored.
        remember(orgId, { place, hooks: own.map((hook) => ({ ...hook, leased: 0 })), version: versionOf(own) });
      }
      for (const oldest of known.keys()) {
        if (size <= most) break;
        forget(oldest);
      }
      knownGauge.set(known.size);
    },
    forget,
  };
}

const sizeOf = (each: Known | undefined) => (each ? 1 + each.hooks.length : 0);

/** Nothing of it waits, and half of the slots of each webhook are free. */
function isAtRest({ held, behind }: IntakePlace, hooks: readonly IntakeHook[]): boolean {
  const isFree = (hook: IntakeHook) => hook.closed && !hook.waits && !hook.ordered && hook.leased * 2 < hook.slots;
  return held && !behind && hooks.every(isFree);
}

type Deps = { db: Database; known: KnownOrganizations; wake: () => void; endpointSlots: number };

/**
 * Stores the events in one flight with their deliveries, and has the requests begin when COMMIT returns. Returns the
 * number of deliveries and the events that are left: those that `mayTake` refuses for the partner of their organization,
 * those of organizations that have changed, or all of them, unless every organization is known and its events are not to
 * go over the stream. Throws as `db.tx` does.
 */
export async function storeAtOnce<E extends IntakeEvent>(
  { db, known, wake, endpointSlots }: Deps,
  who: Who,
  events: readonly E[],
  sends: DirectSends,
  mayTake: (event: E, partnerId: string) => boolean,
): Promise<{ left: readonly E[]; deliveries: number }> {
  const nothing = { left: events, deliveries: 0 };
  const remembered = known.of(new Set(events.map(({ orgId }) => orgId)));
  if (!remembered) return nothing;
  const { places } = remembered.state;
  const taken = new Set(events.filter((event) => mayTake(event, places.get(event.orgId)?.partnerId ?? "")));
  if (taken.size === 0) return nothing;
  const plan = planOf([...taken], remembered.state, sends);
  const leases = leasesOf(plan.deliveries);
  if (plan.streamed.length > 0 || !sends.isOpen(leases.map(({ claim }) => claim))) return nothing;
  const { leaseMs, organizationSlots } = sends.limits;
  const { organizations } = remembered;
  const wanted = { organizations, deliveries: plan.deliveries, leaseMs, endpointSlots, organizationSlots };
  let storedMs = 0;
  const { changed, ...answer } = await db.inOneBatch(who, (tx) => {
    storedMs = performance.now();
    return storeKnown(tx, wanted);
  });
  if (beginLeased(plan, { ...answer, storedMs }, sends)) wake();
  changedCounter.inc(changed.size);
  for (const orgId of changed) known.forget(orgId);
  // What held up a lease is found out by the next event of its organization.
  const waiting = new Set(answer.stored.filter(({ leased }) => !leased).map((each) => each.delivery_id));
  for (const { claim } of leases) if (waiting.has(claim.delivery_id)) known.forget(claim.org_id);
  const left = events.filter((event) => !taken.has(event) || changed.has(event.orgId));
  return { left, deliveries: answer.stored.length };
}
