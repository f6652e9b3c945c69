import type { Database } from "@muster/db";
import { counter, type Logger, ownMeta, type Repeating, repeatEvery, systemCaller } from "@muster/kit";
import { emitDevice } from "../emits/device.ts";
import { crowdOf } from "../rules/presence.ts";
import { findGone, forgetDiscarded, isAnyWatched, takeWatch } from "../store/presence.ts";

type Deps = { db: Database; log: Logger; heartbeatIntervalSeconds: number };

const everyMs = 1_000;
/**
 * Longest pause between checks while no device exists: a new device cannot be offline before its interval has passed.
 */
const emptyRestMs = 5_000;
const batchRows = 1_000;
const cleanEveryMs = 3_600_000;

const offline = counter("muster_tenancy_devices_gone_offline_total", "Devices that missed three heartbeats.");

/**
 * Finds devices that missed their heartbeats and emits their events; returns their number. Does nothing while another
 * replica watches, or after a pause. Only reads while no device exists.
 */
export const lookOnce = async (deps: Omit<Deps, "log">): Promise<number> => (await look(deps)).gone;

async function look({ db, heartbeatIntervalSeconds }: Omit<Deps, "log">): Promise<{ isEmpty: boolean; gone: number }> {
  const caller = systemCaller("tenancy");
  const meta = ownMeta();
  let total = 0;
  let without: string[] = [];
  if (!(await isAnyWatched(db, { caller }))) return { isEmpty: true, gone: 0 };
  for (;;) {
    const { looked, gone } = await db.tx(
      { caller },
      async (tx) => {
        const watch = await takeWatch(tx, heartbeatIntervalSeconds);
        if (watch === null || watch.patient) return { looked: [], gone: [] };
        const found = await findGone(tx, caller, heartbeatIntervalSeconds, { limit: batchRows, without });
        for (const row of found.gone) emitDevice(tx, { meta }, "updated", row, "device.offline");
        return found;
      },
      { retry: true },
    );
    offline.inc(gone.length);
    total += gone.length;
    if (looked.length < batchRows && without.length === 0) return { isEmpty: false, gone: total };
    // Owners of very many devices that fail together have a batch each, then the others, then all again.
    const crowd = looked.length < batchRows ? [] : crowdOf(looked);
    without = crowd.length > 0 ? [...without, ...crowd] : [];
  }
}

/** Checks every second until stopped, less often while no device exists. */
export function startPresenceWatch(deps: Deps): Repeating {
  const { db, log } = deps;
  const restMs = Math.min(emptyRestMs, deps.heartbeatIntervalSeconds * 1_000);
  let nextMs = 0;
  const lookWhenDue = async () => {
    if (performance.now() < nextMs) return;
    const { isEmpty, gone } = await look(deps);
    if (isEmpty) nextMs = performance.now() + restMs - everyMs / 2;
    if (gone > 0) log.info({ gone }, "devices are offline");
  };
  const forget = () => db.tx({ caller: systemCaller("tenancy") }, forgetDiscarded);
  const watching = repeatEvery(everyMs, lookWhenDue, (err) => log.warn({ err }, "devices cannot be watched now"));
  const cleaning = repeatEvery(cleanEveryMs, forget, (err) =>
    log.warn({ err }, "discarded enrollments not cleaned up"),
  );
  return {
    stop: async () => {
      await Promise.all([watching.stop(), cleaning.stop()]);
    },
  };
}
