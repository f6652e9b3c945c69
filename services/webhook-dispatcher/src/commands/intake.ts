import type { Database, Tx } from "@muster/db";
import { AppError, counter, type EventType, type Logger, systemCaller } from "@muster/kit";
import { platformEvent } from "@muster/service";
import { dataOf } from "../rules/envelope.ts";
import type { IntakeEvent } from "../rules/intake.ts";
import { type IntakeState, readIntake } from "../store/intake.ts";
import type { InlineSends } from "./inline.ts";
import { planOf, type StoredPlan, startLeased, storePlan } from "./intake-plan.ts";

export type IntakeDeps = {
  db: Database;
  log: Logger;
  /** Null in a process that sends nothing: everything is queued. */
  sends: () => InlineSends | null;
  /** Called after deliveries were queued that others may send. */
  wake: () => void;
  webhookConcurrency: number;
  batchEvents: number;
};

export type Accepted = IntakeEvent & {
  traceparent: string | null;
  /** Whether organizations of this partner are in the poster's access scope. */
  inScope: (partnerId: string) => boolean;
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
type Written = StoredPlan<Accepted> & { accepted: Accepted[] };

/**
 * Stores posted events with their deliveries, and starts the first requests when COMMIT returns. Events that arrive
 * during a transaction are stored together by the next one.
 */
export class Intake {
  readonly #deps: IntakeDeps;
  readonly #pending: Waiting[] = [];
  #isRunning = false;
  #storing: readonly Waiting[] = [];

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  /**
   * Stores an event with its deliveries before it resolves to true. Resolves to false, and stores nothing, when its
   * organization is missing here or out of scope. Throws as `db.tx` does.
   */
  accept(event: Accepted): Promise<boolean> {
    const waiting = waitingOf(event);
    this.#pending.push(waiting);
    if (!this.#isRunning) void this.#run();
    return waiting.outcome;
  }

  /** Resolves when the events of the running transaction are answered. */
  async answered(): Promise<void> {
    await Promise.allSettled(this.#storing.map(({ outcome }) => outcome));
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, this.#deps.batchEvents);
      this.#storing = batch;
      const sends = this.#deps.sends();
      await (sends ? sends.exclusively(() => this.#handle(batch, sends)) : this.#handle(batch, null));
    }
    this.#isRunning = false;
  }

  /** Never throws: each of them receives its own outcome. */
  async #handle(batch: readonly Waiting[], sends: InlineSends | null): Promise<void> {
    try {
      answer(batch, await this.#store(eventsOf(batch), sends), sends);
    } catch (error) {
      if (batch.length === 1 || error instanceof AppError) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const { log } = this.#deps;
      log.warn({ err: error, events: batch.length }, "posted events cannot be stored together, one by one");
      for (const each of batch) await this.#handle([each], sends);
    }
  }

  async #store(events: readonly Accepted[], sends: InlineSends | null): Promise<Set<Accepted>> {
    const { db, wake } = this.#deps;
    const { plan, accepted, storedMs, stored } = await db.tx(who(), (tx) => this.#write(tx, events, sends));
    batchesCounter.inc();
    eventsCounter.inc({ path: "stream" }, plan.later.length);
    eventsCounter.inc({ path: "inline" }, accepted.length - plan.later.length);
    if (startLeased(plan, { stored: await stored, storedMs }, sends)) wake();
    return new Set(accepted);
  }

  async #write(tx: Tx, events: readonly Accepted[], sends: InlineSends | null): Promise<Written> {
    const orgIds = [...new Set(events.map(({ orgId }) => orgId))];
    const state = await readIntake(tx, orgIds, this.#deps.webhookConcurrency);
    const accepted = events.filter(({ orgId, inScope }) => {
      const organization = state.organizations.get(orgId);
      return organization?.exists && inScope(organization.partnerId);
    });
    const plan = planOf("post", accepted, state, sends);
    for (const event of plan.later) emit(tx, event, state);
    return { accepted, ...(await storePlan(tx, plan, sends)) };
  }
}

function answer(batch: readonly Waiting[], accepted: ReadonlySet<Accepted>, sends: InlineSends | null): void {
  const resolveAll = () => {
    for (const { event, resolve } of batch) resolve(accepted.has(event));
  };
  if (sends) afterRequests(resolveAll);
  else resolveAll();
}

function waitingOf(event: Accepted): Waiting {
  const settle = {} as Pick<Waiting, "resolve" | "reject">;
  const outcome = new Promise<boolean>((resolve, reject) => Object.assign(settle, { resolve, reject }));
  return { event, outcome, ...settle };
}

const eventsOf = (batch: readonly Waiting[]) => batch.map(({ event }) => event);
const who = () => ({ caller: systemCaller(service), deadlineMs: performance.now() + storeMs });

/**
 * Runs `run` after the started requests are written, unless they need a lookup or a new connection: undici
 * writes to an idle connection in the next check phase, after it has read unsolicited bytes of the receiver.
 */
function afterRequests(run: () => void): void {
  // Ticks run after the promises that the requests wait for.
  process.nextTick(() => setImmediate(run));
}

function emit(tx: Tx, { traceparent, ...event }: Accepted, { organizations }: IntakeState): void {
  const { id, orgId, type, occurredAt, body, poster } = event;
  const partnerId = organizations.get(orgId)?.partnerId ?? "";
  const fact = { type: type as EventType, orgId, partnerId, data: dataOf(body), id, postedBy: poster ?? "" };
  tx.emit(platformEvent(service, fact, traceparent, occurredAt));
}
