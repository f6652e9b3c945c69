import type { Database, Tx } from "@muster/db";
import { AppError, counter, type EventType, type Logger, systemCaller } from "@muster/kit";
import { platformEvent } from "@muster/service";
import { dataOf } from "../rules/envelope.ts";
import type { IntakeEvent, IntakePlan } from "../rules/intake.ts";
import { type IntakeState, readIntake, type StoredDelivery, storeIntake } from "../store/intake.ts";
import type { DirectSends } from "./direct.ts";
import { beginLeased, leasesOf, planOf } from "./direct-plan.ts";
import { type KnownOrganizations, storeAtOnce } from "./known-organizations.ts";

export type IntakeDeps = {
  db: Database;
  log: Logger;
  known: KnownOrganizations;
  /** Null in a process that sends nothing: everything is queued. */
  sends: () => DirectSends | null;
  /** Called after deliveries were queued that others may send. */
  wake: () => void;
  endpointSlots: number;
  batchEvents: number;
};

export type Accepted = IntakeEvent & {
  traceparent: string | null;
  /** Whether the poster reaches organizations of this partner. */
  mayReach: (partnerId: string) => boolean;
};

export type Intake = {
  /**
   * Stores an event, and everything that follows from it, before it resolves: true. False when its organization is not
   * known here or out of reach, and nothing is stored. Throws as `db.tx` does.
   */
  accept(event: Accepted): Promise<boolean>;
  /** Resolves when the events that are being stored now are answered. */
  answered(): Promise<void>;
};

/** Timeout of a transaction; the post is answered with 503 then. */
const storeMs = 5_000;
const service = "webhook-dispatcher";

const eventsCounter = counter("muster_webhook_dispatcher_intake_events_total", "Posted events, by path.", ["path"]);
const batchesCounter = counter(
  "muster_webhook_dispatcher_intake_batches_total",
  "Transactions that stored posted events.",
);

type Waiting = {
  event: Accepted;
  outcome: Promise<boolean>;
  resolve: (stored: boolean) => void;
  reject: (error: unknown) => void;
};
type Written = { plan: IntakePlan; accepted: Accepted[]; storedMs: number; stored: Promise<StoredDelivery[]> };

/**
 * Stores posted events with their deliveries, and has the first requests begin when COMMIT returns. Events that arrive
 * while a transaction is under way are stored together by the next one.
 */
export function createIntake(deps: IntakeDeps): Intake {
  const { db } = deps;
  const pending: Waiting[] = [];
  let isRunning = false;
  let underWay: readonly Promise<boolean>[] = [];

  const run = async () => {
    isRunning = true;
    while (pending.length > 0) {
      const batch = pending.splice(0, deps.batchEvents);
      underWay = batch.map(({ outcome }) => outcome);
      const sends = deps.sends();
      await (sends ? sends.inTurn(() => handle(batch, sends)) : handle(batch, null));
    }
    isRunning = false;
  };

  /** Never throws: each of them receives its own outcome. */
  const handle = async (batch: readonly Waiting[], sends: DirectSends | null): Promise<void> => {
    let left = batch;
    try {
      if (sends) left = await handleKnown(batch, sends);
      if (left.length > 0) answer(left, await store(eventsOf(left), sends), sends);
    } catch (error) {
      if (left.length === 1 || error instanceof AppError) {
        for (const { reject } of left) reject(error);
        return;
      }
      deps.log.warn({ err: error, events: left.length }, "posted events cannot be stored together, one by one");
      for (const each of left) await handle([each], sends);
    }
  };

  /** Stores the events of organizations that are as this process knows them; returns the others. */
  const handleKnown = async (batch: readonly Waiting[], sends: DirectSends): Promise<readonly Waiting[]> => {
    const { left } = await storeAtOnce(deps, who(), eventsOf(batch), sends, (event, partnerId) =>
      event.mayReach(partnerId),
    );
    const isLeft = new Set(left);
    const stored = batch.filter(({ event }) => !isLeft.has(event));
    if (stored.length > 0) batchesCounter.inc();
    eventsCounter.inc({ path: "inline" }, stored.length);
    answer(stored, new Set(eventsOf(stored)), sends);
    return batch.filter(({ event }) => isLeft.has(event));
  };

  const answer = (batch: readonly Waiting[], accepted: ReadonlySet<Accepted>, sends: DirectSends | null) => {
    const resolveAll = () => {
      for (const { event, resolve } of batch) resolve(accepted.has(event));
    };
    if (sends) afterRequests(resolveAll);
    else resolveAll();
  };

  const store = async (events: readonly Accepted[], sends: DirectSends | null): Promise<Set<Accepted>> => {
    const { plan, accepted, storedMs, stored } = await db.tx(who(), (tx) => write(tx, events, sends));
    batchesCounter.inc();
    eventsCounter.inc({ path: "stream" }, plan.streamed.length);
    eventsCounter.inc({ path: "inline" }, accepted.length - plan.streamed.length);
    if (beginLeased(plan, { stored: await stored, storedMs }, sends)) deps.wake();
    return new Set(accepted);
  };

  const write = async (tx: Tx, events: readonly Accepted[], sends: DirectSends | null): Promise<Written> => {
    const state = await readIntake(tx, [...new Set(events.map(({ orgId }) => orgId))], deps.endpointSlots);
    deps.known.learn(state);
    const accepted = events.filter(({ orgId, mayReach }) => {
      const place = state.places.get(orgId);
      return place !== undefined && mayReach(place.partnerId);
    });
    const plan = planOf(accepted, state, sends);
    for (const event of plan.streamed) emit(tx, event as Accepted, state);
    await sends?.open(
      tx,
      leasesOf(plan.deliveries).map(({ claim }) => claim),
    );
    const isAny = plan.deliveries.length > 0;
    const stored = isAny ? storeIntake(tx, plan.deliveries, sends?.limits.leaseMs ?? 0) : Promise.resolve([]);
    // Not awaited, so that COMMIT is sent together with it; a failure is reported by COMMIT.
    stored.catch(() => undefined);
    return { plan, accepted, storedMs: performance.now(), stored };
  };

  return {
    accept(event) {
      const waiting = waitingOf(event);
      pending.push(waiting);
      if (!isRunning) void run();
      return waiting.outcome;
    },
    async answered() {
      await Promise.allSettled(underWay);
    },
  };
}

function waitingOf(event: Accepted): Waiting {
  const settle = {} as Pick<Waiting, "resolve" | "reject">;
  const outcome = new Promise<boolean>((resolve, reject) => Object.assign(settle, { resolve, reject }));
  return { event, outcome, ...settle };
}

const eventsOf = (batch: readonly Waiting[]) => batch.map(({ event }) => event);
const who = () => ({ caller: systemCaller(service), deadlineMs: performance.now() + storeMs });

/**
 * Runs `run` after the requests that have begun are written, unless they need a lookup or a new connection: undici
 * writes to an idle connection in the next check phase, after it has read what the receiver sent unasked.
 */
function afterRequests(run: () => void): void {
  // Ticks run after the promises that the requests wait for.
  process.nextTick(() => setImmediate(run));
}

function emit(tx: Tx, { traceparent, ...event }: Accepted, { places }: IntakeState): void {
  const { id, orgId, type, occurredAt, body, poster } = event;
  const partnerId = places.get(orgId)?.partnerId ?? "";
  const fact = { type: type as EventType, orgId, partnerId, data: dataOf(body), id, postedBy: poster ?? "" };
  tx.emit(platformEvent(service, fact, traceparent, occurredAt));
}
