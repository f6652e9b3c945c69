import { AppError, counter, createCounts, gauge } from "@muster/kit";
import { overloaded } from "../errors.ts";
import type { LoadClass } from "../route/route.ts";

/** Classes that may be shed, the first of them first. */
const sheddable = ["download", "export", "stream", "enrollment", "ingest", "interactive"] as const;
export type SheddableClass = (typeof sheddable)[number];

export type SheddingOptions = {
  /** Concurrent requests of each class. */
  caps: Readonly<Record<SheddableClass, number>>;
  /**
   * Percent of a class's free slots that one organization may hold (docs/concepts.md#fair-share), the users of one
   * partner, or one user of the platform.
   */
  organizationPercent: number;
  /** Percent of a class's free slots that unauthenticated requests from one network may hold. */
  anonymousPercent: number;
  /** Concurrent downloads of binaries per client network. */
  downloadsPerNetwork: number;
  /** Concurrent requests of one agent. */
  agentMax: number;
  /** Milliseconds of event-loop lag (p99 of a second) above which classes are shed. */
  lagMaxMs: number;
  random?: () => number;
};

/** Kind of owner of a share of a class; also a label of the metric. */
export type Sharer = "organization" | "network";

const refusalReasons = ["lag", "class", "organization", "network", "agent"] as const;
type RefusalReason = (typeof refusalReasons)[number];

export type Shedder = {
  /** Takes a slot for a request. Throws AppError `overloaded` when its class is full or shed. */
  enter(load: LoadClass): void;
  /**
   * Takes a slot within an owner's fair share, by the name of an organization, agent or network: a percent of the
   * class's free slots, so that several owners that fill their shares leave slots to others.
   */
  enterShare(load: LoadClass, owner: string, who: Sharer): void;
  /** Takes a slot of one agent. Throws AppError `rate_limited`. */
  enterAgent(deviceId: string): void;
  leaveAgent(deviceId: string): void;
  /** Frees what was taken; `owner` when a slot of its share was taken, too. */
  leave(load: LoadClass, owner: string | null): void;
  /** Takes the last second's lag: one more class is shed after each bad second, one fewer after each good one. */
  observeLag(p99Ms: number): void;
  /** Owners that are counted in any class; those without a request are forgotten with the next lag. */
  readonly owners: number;
};

type ClassState = {
  rank: number;
  cap: number;
  /** Slots that an owner may hold while so many are free. */
  most: Readonly<Record<Sharer, (free: number) => number>>;
  inFlight: number;
  byOwner: Map<string, { held: number }>;
};

const shed = counter(
  "muster_gateway_overload_rejected_total",
  "Requests refused because of load.",
  ["class", "reason"],
  { class: sheddable, reason: refusalReasons },
);
const inFlight = gauge("muster_gateway_class_requests_in_flight", "Requests in flight by class, each second.", [
  "class",
]);
const lag = gauge("muster_gateway_event_loop_lag_p99_seconds", "Event-loop lag, p99 of the last second.");
const levels = gauge("muster_gateway_overload_classes", "Classes that are shed because of event-loop lag.");

/** The classes, in the order in which they are shed. */
function classesOf(options: SheddingOptions): Record<SheddableClass, ClassState> {
  const { caps, organizationPercent, anonymousPercent, downloadsPerNetwork } = options;
  const classOf = (name: SheddableClass, rank: number): ClassState => {
    const percentOf = (percent: number) => (free: number) => Math.max(1, Math.floor((free * percent) / 100));
    const network = name === "download" ? () => downloadsPerNetwork : percentOf(anonymousPercent);
    const most = { organization: percentOf(organizationPercent), network };
    return { rank, cap: caps[name], most, inFlight: 0, byOwner: new Map() };
  };
  return {
    download: classOf("download", 0),
    export: classOf("export", 1),
    stream: classOf("stream", 2),
    enrollment: classOf("enrollment", 3),
    ingest: classOf("ingest", 4),
    interactive: classOf("interactive", 5),
  };
}

/**
 * Refuses early the requests that this process could only serve late, so that essential ones proceed: `vital` is never
 * refused.
 */
export function createShedder(options: SheddingOptions): Shedder {
  const { agentMax, lagMaxMs, random = Math.random } = options;
  let level = 0;
  const byAgent = createCounts();
  const classes = classesOf(options);

  const refusal = (load: SheddableClass, reason: RefusalReason): AppError => {
    shed.inc({ class: load, reason });
    // A fleet that was refused together must not return together.
    const retryAfterSeconds = load === "download" ? 5 + Math.floor(random() * 26) : 1;
    return overloaded(retryAfterSeconds);
  };

  return {
    enter(load) {
      if (load === "vital") return;
      const state = classes[load];
      if (state.rank < level) throw refusal(load, "lag");
      if (state.inFlight >= state.cap) throw refusal(load, "class");
      state.inFlight += 1;
    },
    enterShare(load, owner, who) {
      if (load === "vital") return;
      const { byOwner, most, cap, inFlight: taken } = classes[load];
      let own = byOwner.get(owner);
      if (own === undefined) {
        own = { held: 0 };
        byOwner.set(owner, own);
      }
      // The request holds a slot of the class already.
      const free = cap - taken + own.held + 1;
      if (own.held >= most[who](free)) throw refusal(load, who);
      own.held += 1;
    },
    enterAgent(deviceId) {
      if (byAgent.of(deviceId) >= agentMax) {
        shed.inc({ class: "ingest", reason: "agent" });
        throw new AppError("rate_limited", "Too many requests of this agent are in flight", { retryAfterSeconds: 1 });
      }
      byAgent.add(deviceId, 1);
    },
    leaveAgent(deviceId) {
      byAgent.add(deviceId, -1);
    },
    leave(load, owner) {
      if (load === "vital") return;
      const state = classes[load];
      state.inFlight -= 1;
      if (owner === null) return;
      const own = state.byOwner.get(owner);
      if (own !== undefined) own.held -= 1;
    },
    observeLag(p99Ms) {
      level = p99Ms > lagMaxMs ? Math.min(level + 1, sheddable.length) : Math.max(level - 1, 0);
      levels.set(level);
      lag.set(p99Ms / 1000);
      for (const name of sheddable) {
        const { inFlight: now, byOwner } = classes[name];
        inFlight.set({ class: name }, now);
        // Here and not with each request: making and removing an entry costs more than counting in it.
        for (const [owner, { held }] of byOwner) if (held === 0) byOwner.delete(owner);
      }
    },
    get owners() {
      return sheddable.reduce((sum, name) => sum + classes[name].byOwner.size, 0);
    },
  };
}
