import type { Database } from "@muster/db";
import { backoffMs, counter, type Logger, sleep, systemCaller } from "@muster/kit";
import { type Floor, isAnyBacklogged, takeBacklogged } from "../store/backlog.ts";
import { readIntake } from "../store/intake.ts";
import { deliveriesPerOrganization, perOrganization, planOf, storePlan } from "./intake-plan.ts";

export type BacklogDeps = {
  db: Database;
  log: Logger;
  batchEvents: number;
  /** Called after deliveries were queued. */
  wake: () => void;
};

/** While the acknowledgement floor of the stream is unknown, only unordered events are processed. */
export const nothingSettled: Floor = { settled: 0, delivered: Number.MAX_SAFE_INTEGER };

const who = { caller: systemCaller("webhook-dispatcher") };

export const deliveriesCounter = counter(
  "muster_webhook_dispatcher_deliveries_queued_total",
  "Deliveries queued for events.",
);

/** Interval between checks when there is no backlog: a process that creates one notifies, unless it is killed. */
const pollMs = 5_000;
/**
 * Shortest pause between checks of events that wait for earlier ones of the stream, or for another matcher; doubled
 * while there is no progress.
 */
const leastWaitMs = 15;
const mostWaitMs = 250;
/**
 * Milliseconds after other organizations' events were matched, in which a pause `pauseFactor` times as long follows
 * each round.
 */
const yieldMs = 250;
const pauseFactor = 4;
/** Most events of a round meanwhile, since other organizations' events wait for it. */
const yieldingEvents = 100;

/**
 * Processes a batch of the backlog, a few events of each organization; returns their number, and whether any remain.
 */
export async function processBacklog(
  deps: BacklogDeps,
  floor: Floor,
  most: number = deps.batchEvents,
): Promise<{ taken: number; left: boolean }> {
  const { taken, stored, left } = await deps.db.tx(who, async (tx) => {
    const found = await takeBacklogged(tx, Math.min(perOrganization, most), most, deliveriesPerOrganization, floor);
    const { events } = found;
    if (events.length === 0) return { taken: 0, stored: Promise.resolve([]), left: found.left };
    const orgIds = [...new Set(events.map(({ orgId }) => orgId))];
    const state = await readIntake(tx, orgIds, null);
    const { stored } = await storePlan(tx, planOf("backlog", events, state, null), null);
    return { taken: events.length, stored, left: true };
  });
  const queued = (await stored).length;
  deliveriesCounter.inc(queued);
  if (queued > 0) deps.wake();
  return { taken, left };
}

export type Backlog = {
  /** A backlog exists. */
  wake(): void;
  /** Events of others were just matched: they get most of the time. */
  yield(): void;
  stop(): Promise<void>;
};

/** Processes the backlog until stopped: continuously when there is no other work, else a fifth of the time. */
export function startBacklog(deps: BacklogDeps, readFloor: () => Promise<Floor>): Backlog {
  const stopping = new AbortController();
  let notify: () => void = () => undefined;
  let othersAtMs = Number.NEGATIVE_INFINITY;

  const waitForWake = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      notify = () => {
        clearTimeout(timer);
        resolve();
      };
      if (stopping.signal.aborted) notify();
    });

  const floorNow = async (): Promise<Floor> => {
    try {
      return await readFloor();
    } catch (err) {
      deps.log.warn({ err }, "the acknowledgement floor of the stream cannot be read, ordered events wait");
      return nothingSettled;
    }
  };

  const run = async () => {
    for (let failures = 0, idle = 0; !stopping.signal.aborted; ) {
      try {
        const startedMs = performance.now();
        const isYielding = startedMs - othersAtMs < yieldMs;
        const most = isYielding ? Math.min(yieldingEvents, deps.batchEvents) : deps.batchEvents;
        // A local, read-only check first: usually there is no backlog.
        const isAny = await deps.db.inOneBatch(who, isAnyBacklogged, { readOnly: true });
        const { taken, left } = isAny ? await processBacklog(deps, await floorNow(), most) : { taken: 0, left: false };
        failures = 0;
        if (taken > 0) {
          idle = 0;
          const took = performance.now() - startedMs;
          if (isYielding) await sleep(pauseFactor * took, stopping.signal);
        } else if (left) {
          await sleep(Math.min(mostWaitMs, leastWaitMs * 2 ** Math.min(idle++, 5)), stopping.signal);
        } else {
          await waitForWake(pollMs);
        }
      } catch (err) {
        deps.log.warn({ err }, "backlog cannot be processed now");
        await sleep(backoffMs(failures++, 100, 5_000), stopping.signal);
      }
    }
  };
  const running = run();
  return {
    wake: () => notify(),
    yield() {
      othersAtMs = performance.now();
    },
    async stop() {
      stopping.abort();
      notify();
      await running;
    },
  };
}
