import { Resolver as CAres } from "node:dns/promises";
import { parseAddress } from "./address.ts";
import { EgressRefused } from "./refused.ts";
import { type AddressCheck, isPublic } from "./verdict.ts";

/** Addresses of a name and how long they count, in seconds. Rejects when there is none. */
export type Lookup = (name: string) => Promise<{ addresses: string[]; ttlSeconds: number }>;

export type Resolver = {
  /** Every address of a name; throws EgressRefused when there is none or any of them is not permitted. */
  resolve(name: string): Promise<string[]>;
};

const minTtlMs = 5_000;
const maxTtlMs = 60_000;
const maxNames = 10_000;

type Entry = { expiresAtMs: number; answer: Promise<string[]> };

/**
 * Caches answers, failures too, for 5 to 60 s; at most one query per name is in flight; the least recently used names
 * are evicted first.
 */
export function createResolver(
  lookup: Lookup = cAresLookup(),
  nowMs: () => number = () => performance.now(),
  isPermitted: AddressCheck = isPublic,
): Resolver {
  const names = new Map<string, Entry>();
  return {
    resolve(name) {
      const cached = names.get(name);
      names.delete(name);
      if (cached && cached.expiresAtMs > nowMs()) {
        names.set(name, cached);
        return cached.answer;
      }
      const entry: Entry = { expiresAtMs: Number.POSITIVE_INFINITY, answer: Promise.resolve([]) };
      const keep = (ms: number) => {
        entry.expiresAtMs = nowMs() + Math.min(maxTtlMs, Math.max(minTtlMs, ms));
      };
      entry.answer = lookup(name).then(
        ({ addresses, ttlSeconds }) => {
          keep(ttlSeconds * 1_000);
          return onlyPermitted(addresses, isPermitted);
        },
        (cause: unknown) => {
          keep(minTtlMs);
          throw new EgressRefused("unresolvable", { cause });
        },
      );
      entry.answer.catch(() => undefined);
      names.set(name, entry);
      for (const oldest of names.keys()) {
        if (names.size <= maxNames) break;
        names.delete(oldest);
      }
      return entry.answer;
    },
  };
}

function onlyPermitted(addresses: readonly string[], isPermitted: AddressCheck): string[] {
  if (addresses.length === 0) throw new EgressRefused("unresolvable");
  for (const text of addresses) {
    const bytes = parseAddress(text);
    if (!bytes || !isPermitted(bytes)) throw new EgressRefused("resolves_to_private");
  }
  return [...addresses];
}

/**
 * Asks the system's name servers by c-ares: getaddrinfo has four threads for all of the process, and no time-out of
 * ours.
 */
export function cAresLookup(timeoutMs = 2_500, tries = 2): Lookup {
  const resolver = new CAres({ timeout: timeoutMs, tries });
  return async (name) => {
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(name, { ttl: true }),
      resolver.resolve6(name, { ttl: true }),
    ]);
    const found = [four, six].flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    if (found.length === 0 && four.status === "rejected") throw four.reason;
    return {
      addresses: found.map(({ address }) => address),
      ttlSeconds: Math.min(...found.map(({ ttl }) => ttl)),
    };
  };
}
