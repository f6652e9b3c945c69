import type { Database } from "@muster/db";
import { counter, histogram } from "@muster/kit";
import { gatewaysDone, gatewaysToWaitFor, leaseMs } from "../store/gateways.ts";

/** Acknowledgements that came to this process wake its waits; those that came to another replica are seen by asking. */
const firstPollMs = 20;
const pollMs = 50;
/** Added to a lease's end: both clocks are monotonic, yet none is exact. */
const marginMs = 100;

const waits = histogram(
  "muster_identity_revocation_duration_seconds",
  "Time until every gateway had applied a change, or had lost its lease.",
  ["outcome"],
);
const unread = counter(
  "muster_identity_revocation_ack_read_failures_total",
  "Times acknowledgements could not be read, so that a change waited for leases to end.",
);

const listeners = new WeakMap<Database, Set<() => void>>();

/** Signals that this process stored acknowledgements in this database. */
export function acknowledgementsStored(db: Database): void {
  for (const listener of [...(listeners.get(db) ?? [])]) listener();
}

/**
 * Resolves when each gateway that may still act on what was true before these messages of stream AUTH (ids of committed
 * outbox rows) has applied them, or can no longer act on it: normally milliseconds, at worst 2.2 s. Never throws: what
 * committed is done.
 */
export async function appliedEverywhere(db: Database, messageIds: readonly string[]): Promise<void> {
  if (messageIds.length === 0) return;
  const startedMs = performance.now();
  const done = (outcome: "acknowledged" | "lease_over") =>
    waits.observe({ outcome }, (performance.now() - startedMs) / 1000);
  const registered = await gatewaysToWaitFor(db).catch(() => {
    unread.inc();
    return null;
  });
  if (registered === null) {
    await pause(db, leaseMs + marginMs);
    return done("lease_over");
  }
  const readMs = performance.now();
  let open = registered.map(({ id, waitMs }) => ({ id, untilMs: readMs + waitMs + marginMs }));
  for (let round = 0; ; round++) {
    const acknowledged: string[] = await gatewaysDone(
      db,
      open.map(({ id }) => id),
      [...new Set(messageIds)],
    ).catch(() => {
      unread.inc();
      return [] as string[];
    });
    open = open.filter(({ id }) => !acknowledged.includes(id));
    if (open.length === 0) return done("acknowledged");
    const leftMs = Math.max(...open.map(({ untilMs }) => untilMs)) - performance.now();
    if (leftMs <= 0) return done("lease_over");
    await pause(db, Math.min(leftMs, round === 0 ? firstPollMs : pollMs), { wakeable: true });
  }
}

function pause(db: Database, ms: number, { wakeable = false } = {}): Promise<void> {
  return new Promise((resolve) => {
    const set = listeners.get(db) ?? new Set();
    listeners.set(db, set);
    const end = () => {
      clearTimeout(timer);
      set.delete(end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (wakeable) set.add(end);
  });
}
