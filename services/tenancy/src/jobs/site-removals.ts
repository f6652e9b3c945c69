import type { Database } from "@muster/db";
import { keepWorking, type Logger, type Repeating, sleep, systemCaller } from "@muster/kit";
import { isAnySiteRemoved, leaveNextSite } from "../store/site-removals.ts";

const everyMs = 5_000;
/** Pause between two slices, in which heartbeats and changes of these devices take precedence. */
const pauseMs = 5;

/** Removes the devices of deleted sites from these, slice by slice, until none is left; returns their number. */
export async function removeSites({ db }: { db: Database }, signal?: AbortSignal): Promise<number> {
  const who = { caller: systemCaller("tenancy") };
  for (let total = 0; ; ) {
    const isAny = !signal?.aborted && (await isAnySiteRemoved(db, who));
    const left = isAny ? await db.tx(who, leaveNextSite, { retry: true }) : null;
    if (left === null) return total;
    total += left;
    await sleep(pauseMs, signal);
  }
}

/** Looks at start and every five seconds, until stopped; readers see no device at a deleted site meanwhile. */
export function startSiteRemovals(deps: { db: Database; log: Logger }): Repeating {
  const work = async (signal: AbortSignal) => {
    const devices = await removeSites(deps, signal);
    if (devices > 0) deps.log.info({ devices }, "devices left deleted sites");
  };
  return keepWorking(everyMs, work, (err) => deps.log.warn({ err }, "devices cannot leave deleted sites now"));
}
