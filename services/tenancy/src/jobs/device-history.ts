import type { Database } from "@muster/db";
import { keepWorking, type Logger, type Repeating } from "@muster/kit";
import { countStates, removeHistory } from "../store/device-history.ts";

type Deps = { db: Database; log: Logger; now: () => Date };

/** Shorter than five minutes: each of them is counted, also when a process is away for a while. */
const countEveryMs = 60_000;
const removeEveryMs = 3_600_000;
const keptMs = 30 * 86_400_000;

/** Counts devices by state each five minutes, and forgets counts after 30 days; until stopped. */
export function startDeviceHistory({ db, log, now }: Deps): Repeating {
  const counting = keepWorking(
    countEveryMs,
    () => countStates(db, now()),
    (err) => log.warn({ err }, "the states of devices cannot be counted now"),
  );
  const removing = keepWorking(
    removeEveryMs,
    () => removeHistory(db, new Date(now().getTime() - keptMs)),
    (err) => log.warn({ err }, "old counts of devices are not removed now"),
  );
  return { stop: async () => void (await Promise.all([counting.stop(), removing.stop()])) };
}
