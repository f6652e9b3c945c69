import type { Database, Tx } from "@muster/db";
import { AppError, counter, type EventType, type Logger, systemCaller } from "@muster/kit";
import { platformEvent } from "@muster/service";
import { dataOf } from "../rules/envelope.ts";
import { type IntakeDelivery, type IntakeEvent, type IntakePlan, planIntake } from "../rules/intake.ts";
import { type IntakeState, readIntake, type StoredDelivery, storeIntake } from "../store/intake.ts";
import { deliveriesPerOrganization, perOrganization } from "./backlog.ts";
import type { DirectLease, DirectSends } from "./direct.ts";

export type IntakeDeps = {
  db: Database;
  log: Logger;
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
};

/** Deliveries of one partner in a transaction, but for the last event's: others' posts wait for it. */
const deliveriesPerPartner = 1_000;
/** Timeout of a transaction; the post is answered with 503 then. */
const storeMs = 5_000;
const service = "webhook-dispatcher";

const eventsCounter = counter("muster_webhook_intake_events_total", "Posted events, by path.", ["way"]);
const batchesCounter = counter("muster_webhook_intake_batches_total", "Transactions that stored posted events.");

type Waiting = { event: Accepted; resolve: (stored: boolean) => void; reject: (error: unknown) => void };
type Written = { plan: IntakePlan; accepted: Accepted[]; storedMs: number; stored: Promise<StoredDelivery[]> };

/**
 * Stores posted events with their deliveries, and has the first requests begin when COMMIT returns. Events that arrive
 * while a transaction is under way are stored together by the next one.
 */
export function createIntake(deps: IntakeDeps): Intake {
  const { db } = deps;
  const pending: Waiting[] = [];
  let isRunning = false;

  const run = async () => {
    isRunning = true;
    while (pending.length > 0) {
      const batch = pending.splice(0, deps.batchEvents);
      const sends = deps.sends();
      await (sends ? sends.inTurn(() => handle(batch, sends)) : handle(batch, null));
    }
    isRunning = false;
  };

  /** Never throws: each of them receives its own outcome. */
  const handle = async (batch: readonly Waiting[], sends: DirectSends | null): Promise<void> => {
    try {
      const events = batch.map(({ event }) => event);
      const accepted = await store(events, sends);
      const answer = () => {
        for (const { event, resolve } of batch) resolve(accepted.has(event));
      };
      if (sends) afterRequests(answer);
      else answer();
    } catch (error) {
      if (batch.length === 1 || error instanceof AppError) {
        for (const { reject } of batch) reject(error);
        return;
      }
      deps.log.warn({ err: error, events: batch.length }, "posted events cannot be stored together, one by one");
      for (const each of batch) await handle([each], sends);
    }
  };

  const store = async (events: readonly Accepted[], sends: DirectSends | null): Promise<Set<Accepted>> => {
    const who = { caller: systemCaller(service), deadlineMs: performance.now() + storeMs };
    const { plan, accepted, storedMs, stored } = await db.tx(who, (tx) => write(tx, events, sends));
    batchesCounter.inc();
    eventsCounter.inc({ way: "stream" }, plan.streamed.length);
    eventsCounter.inc({ way: "direct" }, accepted.length - plan.streamed.length);
    if (beginLeased(plan, await stored, sends, storedMs)) deps.wake();
    return new Set(accepted);
  };

  const write = async (tx: Tx, events: readonly Accepted[], sends: DirectSends | null): Promise<Written> => {
    const state = await readIntake(tx, [...new Set(events.map(({ orgId }) => orgId))], deps.endpointSlots);
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
      return new Promise((resolve, reject) => {
        pending.push({ event, resolve, reject });
        if (!isRunning) void run();
      });
    },
  };
}

/**
 * Runs `run` after the requests that have begun are written, unless they need a lookup or a new connection: undici
 * writes to an idle connection in the next check phase, after it has read what the receiver sent unasked.
 */
function afterRequests(run: () => void): void {
  // Ticks run after the promises that the requests wait for.
  process.nextTick(() => setImmediate(run));
}

/** Plans each event by the number of requests that this process and the webhooks may have under way. */
export function planOf(events: readonly IntakeEvent[], state: IntakeState, sends: DirectSends | null): IntakePlan {
  const { places, hooks } = state;
  const room = sends?.room() ?? 0;
  // A process that sends nothing leases nothing; other processes count what they may send.
  const { organizationSlots = Number.MAX_SAFE_INTEGER, hostSlots = 0, openRequests = 0 } = sends?.limits ?? {};
  const shares = { perOrganization, deliveriesPerOrganization, deliveriesPerPartner };
  const limits = { room, organizationSlots, hostSlots, openRequests, ...shares };
  return planIntake(events, places, hooks, limits, (key) => sends?.underWay(key) ?? 0);
}

function emit(tx: Tx, { traceparent, ...event }: Accepted, { places }: IntakeState): void {
  const { id, orgId, type, occurredAt, body } = event;
  const partnerId = places.get(orgId)?.partnerId ?? "";
  const data = JSON.parse(dataOf(body)) as Record<string, unknown>;
  tx.emit(platformEvent(service, { type: type as EventType, orgId, partnerId, data, id }, traceparent, occurredAt));
}

/** Has the requests of all deliveries begin that were leased; true when further ones wait for any sender. */
export function beginLeased(
  plan: IntakePlan,
  stored: readonly StoredDelivery[],
  sends: DirectSends | null,
  storedMs: number,
): boolean {
  const isLeased = new Map(stored.map((row) => [row.delivery_id, row.leased]));
  const planned = leasesOf(plan.deliveries);
  sends?.begin(
    planned.filter(({ claim }) => isLeased.get(claim.delivery_id)),
    storedMs,
  );
  if (plan.blocked.size > 0) sends?.noteBlocked(plan.blocked);
  // Another process took slots of the webhook meanwhile.
  return plan.waiting || planned.some(({ claim }) => isLeased.get(claim.delivery_id) === false);
}

/** The deliveries that are to be leased to this process, with their payloads. */
export function leasesOf(deliveries: readonly IntakeDelivery[]): DirectLease[] {
  return deliveries
    .filter(({ lease }) => lease)
    .map(({ id, event, hook }) => ({
      claim: {
        delivery_id: id,
        created_at: event.occurredAt,
        webhook_id: hook.id,
        org_id: hook.org_id,
        partner_id: hook.partner_id,
        event_id: event.id,
        host: hook.host,
        attempt: 1,
        failures: 0,
        interruptions: 0,
        was_leased: false,
        generation: hook.generation,
      },
      payload: { type: event.type, body: event.body, traceparent: event.traceparent ?? null },
    }));
}
