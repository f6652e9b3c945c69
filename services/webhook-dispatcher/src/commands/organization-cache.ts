import type { Database, Who } from "@muster/db";
import { counter, gauge } from "@muster/kit";
import type { IntakeEvent, IntakeHook, IntakeOrganization } from "../rules/intake.ts";
import { type OrganizationVersion, storeCached, versionOf } from "../store/cached-intake.ts";
import type { IntakeState } from "../store/intake.ts";
import type { InlineSends } from "./inline.ts";
import { leasesOf, planOf, startLeased } from "./inline-plan.ts";

type Cached = { organization: IntakeOrganization; hooks: IntakeHook[]; version: string };

/**
 * Idle organizations as this process last read them. A plan made from them counts only if they are unchanged when it is
 * stored (`storeCached`).
 */
export type OrganizationCache = {
  /** Null unless all of them are cached. */
  get(orgIds: Iterable<string>): { state: IntakeState; versions: OrganizationVersion[] } | null;
  /** Caches the idle ones of organizations that were just read. */
  update(state: IntakeState): void;
  evict(orgId: string): void;
};

/** Most cached organizations and webhooks, together. */
const maxCached = 20_000;

const cachedGauge = gauge(
  "muster_webhook_dispatcher_cached_organizations",
  "Idle organizations in the cache of this process.",
);
const staleCounter = counter(
  "muster_webhook_dispatcher_cached_organizations_stale_total",
  "Cached organizations that had changed when an event arrived.",
);

export function createOrganizationCache(most = maxCached): OrganizationCache {
  /** The least recently used one first. */
  const cached = new Map<string, Cached>();
  let size = 0;
  const evict = (orgId: string) => {
    size -= sizeOf(cached.get(orgId));
    cached.delete(orgId);
  };
  const put = (orgId: string, each: Cached) => {
    evict(orgId);
    cached.set(orgId, each);
    size += sizeOf(each);
  };
  return {
    get(orgIds) {
      const state: IntakeState = { organizations: new Map(), hooks: [] };
      const versions: OrganizationVersion[] = [];
      for (const orgId of orgIds) {
        const each = cached.get(orgId);
        if (!each) return null;
        put(orgId, each);
        state.organizations.set(orgId, each.organization);
        state.hooks.push(...each.hooks);
        versions.push({ orgId, version: each.version, keeps: each.organization.keeps });
      }
      return { state, versions };
    },
    update({ organizations, hooks }) {
      const byOrg = new Map<string, IntakeHook[]>([...organizations.keys()].map((orgId) => [orgId, []]));
      for (const hook of hooks) byOrg.get(hook.org_id)?.push(hook);
      for (const [orgId, organization] of organizations) {
        const own = byOrg.get(orgId) ?? [];
        if (!isIdle(organization, own)) continue;
        // Leases are counted when deliveries are stored.
        put(orgId, { organization, hooks: own.map((hook) => ({ ...hook, leased: 0 })), version: versionOf(own) });
      }
      for (const oldest of cached.keys()) {
        if (size <= most) break;
        evict(oldest);
      }
      cachedGauge.set(cached.size);
    },
    evict,
  };
}

const sizeOf = (each: Cached | undefined) => (each ? 1 + each.hooks.length : 0);

/** Whether nothing of it waits, and half of the slots of each webhook are free. */
function isIdle({ held, backlogged }: IntakeOrganization, hooks: readonly IntakeHook[]): boolean {
  const isFree = (hook: IntakeHook) => hook.closed && !hook.waits && !hook.ordered && hook.leased * 2 < hook.slots;
  return held && !backlogged && hooks.every(isFree);
}

type Deps = { db: Database; cache: OrganizationCache; wake: () => void; webhookConcurrency: number };

/**
 * Stores the events with their deliveries in one pipelined round trip, and starts the requests when COMMIT returns.
 * Returns the number of deliveries and the events that are left: those that `mayTake` refuses for the partner of their
 * organization, and those of organizations that have changed; or all of them, if one organization is not cached or its
 * events go over the stream. Throws as `db.tx` does.
 */
export async function storeFromCache<E extends IntakeEvent>(
  { db, cache, wake, webhookConcurrency }: Deps,
  who: Who,
  events: readonly E[],
  sends: InlineSends,
  mayTake: (event: E, partnerId: string) => boolean,
): Promise<{ left: readonly E[]; deliveries: number }> {
  const nothing = { left: events, deliveries: 0 };
  const cached = cache.get(new Set(events.map(({ orgId }) => orgId)));
  if (!cached) return nothing;
  const { organizations } = cached.state;
  const taken = new Set(events.filter((event) => mayTake(event, organizations.get(event.orgId)?.partnerId ?? "")));
  if (taken.size === 0) return nothing;
  const plan = planOf([...taken], cached.state, sends);
  const leases = leasesOf(plan.deliveries);
  if (plan.streamed.length > 0 || !sends.isOpen(leases.map(({ claim }) => claim))) return nothing;
  const { leaseMs, organizationConcurrency } = sends.limits;
  const { versions } = cached;
  const { deliveries, kept } = plan;
  const wanted = { versions, deliveries, kept, leaseMs, webhookConcurrency, organizationConcurrency };
  let storedMs = 0;
  const { changed, ...answer } = await db.inOneBatch(who, (tx) => {
    storedMs = performance.now();
    return storeCached(tx, wanted);
  });
  if (startLeased(plan, { ...answer, storedMs }, sends)) wake();
  staleCounter.inc(changed.size);
  for (const orgId of changed) cache.evict(orgId);
  // The next event of these organizations finds out why their leases were refused.
  const waiting = new Set(answer.stored.filter(({ leased }) => !leased).map((each) => each.delivery_id));
  for (const { claim } of leases) if (waiting.has(claim.delivery_id)) cache.evict(claim.org_id);
  const left = events.filter((event) => !taken.has(event) || changed.has(event.orgId));
  return { left, deliveries: answer.stored.length };
}
