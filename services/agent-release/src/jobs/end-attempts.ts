import type { Database } from "@muster/db";
import { gauge, type Logger, type Repeating, repeatEvery, systemCaller } from "@muster/kit";
import { countOutcomes, type Outcome } from "../commands/count-outcomes.ts";
import { service } from "../config.ts";
import {
  endAttempts,
  forgetAttempts,
  forgetRequests,
  hadGatewayContact,
  lockDue,
  openAttempts,
} from "../store/attempts.ts";
import { forgetChanges } from "../store/plan.ts";
import { countInFlightByRollout } from "../store/rollouts.ts";

type Deps = { db: Database; log: Logger; now: () => Date };

const everyMs = 1_000;
/** Pause between checks while no update is in flight. */
const idleMs = 5_000;
const countEveryMs = 15_000;
const cleanEveryMs = 600_000;
const batchRows = 500;

const inFlight = gauge("muster_agent_release_updates_in_flight", "Updates in flight, by rollout.", ["rollout"]);

/**
 * Ends the attempts past their deadline as failures of their rollouts; returns their number. Ends none while no gateway
 * is connected: the silence is then a failure of the platform.
 */
export const endDueOnce = async (deps: Deps): Promise<number> => (await endDue(deps)).ended;

async function endDue({ db, log, now }: Deps): Promise<{ isEmpty: boolean; ended: number }> {
  const who = { caller: systemCaller(service) };
  const open = await openAttempts(db, who);
  if (!open.due) return { isEmpty: !open.any, ended: 0 };
  for (let total = 0; ; ) {
    const ended = await db.tx(
      who,
      async (tx) => {
        if (!(await hadGatewayContact(tx))) return 0;
        const due = await lockDue(tx, batchRows);
        const outcomes = due.map((attempt): Outcome => {
          return { attempt, state: "failed", reason: attempt.state === "returned" ? "silent_after_return" : "silent" };
        });
        await endAttempts(
          tx,
          outcomes.map(({ attempt, state, reason }) => ({ id: attempt.id, state, reason })),
        );
        await countOutcomes(tx, outcomes, { now: now(), log });
        return due.length;
      },
      { retry: true },
    );
    total += ended;
    if (ended < batchRows) return { isEmpty: false, ended: total };
  }
}

/** Shows how many updates are in flight, whichever replica grants and ends them. */
export async function countInFlight(db: Database): Promise<void> {
  const rows = await db.inOneBatch({ caller: systemCaller(service) }, countInFlightByRollout, { readOnly: true });
  inFlight.reset();
  for (const { id, in_flight: count } of rows) inFlight.set({ rollout: id }, count);
}

/**
 * Checks every second until stopped, every five while no update is in flight, and removes expired rows every ten
 * minutes.
 */
export function startEndingAttempts(deps: Deps): Repeating {
  const { db, log } = deps;
  const who = { caller: systemCaller(service) };
  let nextMs = 0;
  const endWhenDue = async () => {
    if (performance.now() < nextMs) return;
    const { isEmpty } = await endDue(deps);
    if (isEmpty) nextMs = performance.now() + idleMs - everyMs / 2;
  };
  const ending = repeatEvery(everyMs, endWhenDue, (err) => log.warn({ err }, "due updates cannot be ended now"));
  const counting = repeatEvery(
    countEveryMs,
    () => countInFlight(db),
    (err) => log.warn({ err }, "updates in flight cannot be counted now"),
  );
  const clean = async () => {
    await db.tx(who, forgetChanges);
    await db.tx(who, forgetRequests);
    while ((await db.tx(who, (tx) => forgetAttempts(tx, batchRows))) === batchRows);
  };
  const cleaning = repeatEvery(cleanEveryMs, clean, (err) => log.warn({ err }, "old update attempts not removed"));
  return {
    async stop() {
      await Promise.all([ending.stop(), counting.stop(), cleaning.stop()]);
    },
  };
}
