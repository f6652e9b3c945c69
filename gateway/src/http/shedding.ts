import { AppError, counter, createCounts, gauge } from "@muster/kit";
import type { LoadClass } from "../route.ts";

/** Classes that may be shed, the first of them first. */
const sheddable = ["download", "export", "stream", "enrollment", "ingest", "interactive"] as const;
export type SheddableClass = (typeof sheddable)[number];

export type SheddingOptions = {
  /** Requests of each class that may be under way at once. */
  caps: Readonly<Record<SheddableClass, number>>;
  /**
   * Percent of what others leave of a class that one organization may hold; also a partner's people, and one person of
   * the platform.
   */
  organizationPercent: number;
  /** Percent of what others leave of a class that unauthenticated requests from one network may hold. */
  anonymousPercent: number;
  /** Downloads of binaries in flight at most per client network. */
  downloadsPerNetwork: number;
  /** Requests of one agent that may be under way at once. */
  agentMax: number;
  /** Milliseconds of event-loop lag (p99 of a second) above which classes are shed. */
  lagMaxMs: number;
  random?: () => number;
};

/** Kind of owner of a share of a class; also a label of the metric. */
export type Sharer = "organization" | "network";

export type Shedder = {
  /** Takes a place for a request. Throws AppError `overloaded` when its class is full or shed. */
  enter(load: LoadClass): void;
  /**
   * Takes a place within an owner's share, by the name of an organization, agent or network: a percent of what the
   * other owners leave of the class, so that several owners that fill their shares leave places, too.
   */
  enterShare(load: LoadClass, owner: string, who: Sharer): void;
  /** A place among those of one agent. Throws AppError `rate_limited`. */
  enterAgent(deviceId: string): void;
  leaveAgent(deviceId: string): void;
  /** Frees what was taken; `owner` when the share's place was taken, too. */
  leave(load: LoadClass, owner: string | null): void;
  /** Takes the last second's lag: one more class is shed after each bad second, one fewer after each good one. */
  observeLag(p99Ms: number): void;
};

type Place = {
  rank: number;
  cap: number;
  /** Places that an owner may hold of those that the others leave. */
  most: Readonly<Record<Sharer, (left: number) => number>>;
  inFlight: number;
  byOwner: Map<string, { held: number }>;
};

const shed = counter("muster_gateway_overload_rejected_total", "Requests refused because of load.", [
  "class",
  "reason",
]);
const inFlight = gauge("muster_gateway_class_requests_in_flight", "Requests in flight by class, each second.", [
  "class",
]);
const lag = gauge("muster_gateway_event_loop_lag_p99_seconds", "Event-loop lag, p99 of the last second.");
const levels = gauge("muster_gateway_overload_classes", "Classes that are shed because of event-loop lag.");

/**
 * Refuses early the requests that this process could only serve late, so that essential ones proceed: `vital` is never
 * refused.
 */
export function createShedder(options: SheddingOptions): Shedder {
  const { caps, organizationPercent, anonymousPercent, downloadsPerNetwork, agentMax, lagMaxMs } = options;
  const { random = Math.random } = options;
  let level = 0;
  const byAgent = createCounts();
  const placeOf = (name: SheddableClass, rank: number): Place => {
    const percentOf = (percent: number) => (left: number) => Math.max(1, Math.floor((left * percent) / 100));
    const network = name === "download" ? () => downloadsPerNetwork : percentOf(anonymousPercent);
    const most = { organization: percentOf(organizationPercent), network };
    return { rank, cap: caps[name], most, inFlight: 0, byOwner: new Map() };
  };
  const places: Record<SheddableClass, Place> = {
    download: placeOf("download", 0),
    export: placeOf("export", 1),
    stream: placeOf("stream", 2),
    enrollment: placeOf("enrollment", 3),
    ingest: placeOf("ingest", 4),
    interactive: placeOf("interactive", 5),
  };

  const refusal = (load: SheddableClass, reason: "lag" | "class" | Sharer): AppError => {
    shed.inc({ class: load, reason });
    // A fleet that was refused together must not return together.
    const retryAfterSeconds = load === "download" ? 5 + Math.floor(random() * 26) : 1;
    return new AppError("overloaded", "Service is overloaded", { retryAfterSeconds });
  };

  return {
    enter(load) {
      if (load === "vital") return;
      const place = places[load];
      if (place.rank < level) throw refusal(load, "lag");
      if (place.inFlight >= place.cap) throw refusal(load, "class");
      place.inFlight += 1;
    },
    enterShare(load, owner, who) {
      if (load === "vital") return;
      const { byOwner, most, cap, inFlight: taken } = places[load];
      let own = byOwner.get(owner);
      if (own === undefined) {
        own = { held: 0 };
        byOwner.set(owner, own);
      }
      // The request holds a place of the class already.
      const left = cap - taken + own.held + 1;
      if (own.held >= most[who](left)) throw refusal(load, who);
      own.held += 1;
    },
    enterAgent(deviceId) {
      if (byAgent.of(deviceId) >= agentMax) {
        shed.inc({ class: "ingest", reason: "agent" });
        throw new AppError("rate_limited", "Too many requests of this agent are under way", { retryAfterSeconds: 1 });
      }
      byAgent.add(deviceId, 1);
    },
    leaveAgent(deviceId) {
      byAgent.add(deviceId, -1);
    },
    leave(load, owner) {
      if (load === "vital") return;
      const place = places[load];
      place.inFlight -= 1;
      if (owner === null) return;
      const own = place.byOwner.get(owner);
      if (own !== undefined) own.held -= 1;
    },
    observeLag(p99Ms) {
      level = p99Ms > lagMaxMs ? Math.min(level + 1, sheddable.length) : Math.max(level - 1, 0);
      levels.set(level);
      lag.set(p99Ms / 1000);
      for (const name of sheddable) {
        const { inFlight: now, byOwner } = places[name];
        inFlight.set({ class: name }, now);
        // Here and not with each request: making and removing an entry costs more than counting in it.
        for (const [owner, { held }] of byOwner) if (held === 0) byOwner.delete(owner);
      }
    },
  };
}
