import type { Database } from "@muster/db";
import { counter, type Logger, sleep, systemCaller } from "@muster/kit";
import { advanceReplay, isAnyReplayOpen, postponeReplay, type ReplayLimits } from "../store/replays.ts";

export type ReplayerDeps = {
  db: Database;
  log: Logger;
  limits: ReplayLimits;
  /** Called after deliveries were queued. */
  wake: () => void;
};

const who = () => ({ caller: systemCaller("webhook-dispatcher") });
/** Shortest and longest pause between checks while no replay is open; a notification ends the pause. */
const leastMs = 1_000;
const idleMs = 5_000;
const replayedCounter = counter(
  "muster_webhook_dispatcher_deliveries_replayed_total",
  "Deliveries that replays queued.",
);

/** Works on replays in chunks until stopped; only one of several replayers works on a replay. */
export function startReplayer(deps: ReplayerDeps): {
  /** A replay may have been started. */
  wake(): void;
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  let isWoken = false;
  let notify: () => void = () => undefined;
  const waitForWake = async () => {
    await sleep(leastMs, stopping.signal);
    if (isWoken) return;
    const woken = new AbortController();
    notify = () => woken.abort();
    await sleep(idleMs - leastMs, AbortSignal.any([stopping.signal, woken.signal]));
  };
  /** Defers a replay after a failed step, so that the others continue; returns whether that succeeded. */
  const postpone = async (id: string | null): Promise<boolean> => {
    if (id === null) return false;
    const postponing = deps.db.tx(who(), (tx) => postponeReplay(tx, id));
    return postponing.then(
      () => true,
      () => false,
    );
  };
  const loop = async () => {
    while (!stopping.signal.aborted) {
      let taken: string | null = null;
      const take = (id: string) => {
        taken = id;
      };
      try {
        isWoken = false;
        const isAny = await deps.db.inOneBatch(who(), isAnyReplayOpen, { readOnly: true });
        const step = isAny ? await deps.db.tx(who(), (tx) => advanceReplay(tx, deps.limits, take)) : null;
        if (step) {
          replayedCounter.inc(step.queued);
          if (step.queued > 0) deps.wake();
          const { id: replayId, state, queued } = step.replay;
          if (state === "done") deps.log.info({ replayId, queued }, "replay done");
        }
        if (isAny) await sleep(step ? 5 : Math.min(leastMs, deps.limits.everyMs), stopping.signal);
        else await waitForWake();
      } catch (err) {
        deps.log.warn({ err, replayId: taken }, "a replay cannot continue now");
        if (!(await postpone(taken))) await sleep(2_000, stopping.signal);
      }
    }
  };
  const running = loop();
  return {
    wake() {
      isWoken = true;
      notify();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
