import type { Database } from "@muster/db";
import { counter, type Logger, type Repeating, repeatEvery, systemCaller, uuidv7 } from "@muster/kit";
import { emitDevice } from "../emits/device.ts";
import { findGone, forgetDiscarded, isAnyWatched, takeWatch } from "../store/presence.ts";

type Deps = { db: Database; log: Logger; heartbeatIntervalSeconds: number };

const everyMs = 1_000;
const batchRows = 1_000;
const cleanEveryMs = 3_600_000;

const offline = counter("tenancy_devices_gone_offline_total", "Devices that missed three heartbeats.");

/**
 * Finds devices that missed their heartbeats and says so; how many. Nothing while another replica watches, or after a
 * pause. Only reads while no device is there.
 */
export async function lookOnce({ db, heartbeatIntervalSeconds }: Omit<Deps, "log">): Promise<number> {
  const caller = systemCaller("tenancy");
  const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
  let total = 0;
  if (!(await isAnyWatched(db, { caller }))) return 0;
  for (;;) {
    const { looked, gone } = await db.tx(
      { caller },
      async (tx) => {
        const watch = await takeWatch(tx, heartbeatIntervalSeconds);
        if (watch === null || watch.patient) return { looked: 0, gone: [] };
        const found = await findGone(tx, caller, heartbeatIntervalSeconds, batchRows);
        for (const row of found.gone) emitDevice(tx, { meta }, "updated", row, "device.offline");
        return found;
      },
      { retry: true },
    );
    offline.inc(gone.length);
    total += gone.length;
    if (looked < batchRows) return total;
  }
}

/** Looks every second until stopped. */
export function startPresenceWatch(deps: Deps): Repeating {
  const { db, log } = deps;
  const look = async () => {
    const gone = await lookOnce(deps);
    if (gone > 0) log.info({ gone }, "devices are offline");
  };
  const forget = () => db.tx({ caller: systemCaller("tenancy") }, forgetDiscarded);
  const watching = repeatEvery(everyMs, look, (err) => log.warn({ err }, "devices cannot be watched now"));
  const cleaning = repeatEvery(cleanEveryMs, forget, (err) =>
    log.warn({ err }, "discarded enrollments not cleaned up"),
  );
  return {
    stop: async () => {
      await Promise.all([watching.stop(), cleaning.stop()]);
    },
  };
}
