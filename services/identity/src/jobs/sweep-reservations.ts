import { type Database, sql } from "@muster/db";
import { type Logger, systemCaller } from "@muster/kit";
import { sweepReservations } from "../store/enrollment-uses.ts";

const everyMs = 10_000;
const batch = 500;

type Deps = { db: Database; log: Logger };

/** Gives back every use of an enrollment key that was not confirmed in time; how many. One replica at a time. */
export async function sweepOnce({ db }: Pick<Deps, "db">): Promise<number> {
  let returned = 0;
  for (;;) {
    const swept = await db.tx({ caller: systemCaller("identity") }, async (tx) => {
      const [lock] = await tx.query<{ mine: boolean }>(
        sql`SELECT pg_try_advisory_xact_lock(hashtext('identity.sweep_reservations')) AS mine`,
      );
      return lock?.mine ? sweepReservations(tx, batch) : 0;
    });
    returned += swept;
    if (swept < batch) return returned;
  }
}

/** Sweeps every ten seconds until stopped. */
export function startSweeping({ db, log }: Deps): { stop(): Promise<void> } {
  let running: Promise<void> | null = null;
  const sweep = async () => {
    try {
      const returned = await sweepOnce({ db });
      if (returned > 0) log.info({ returned }, "uses of enrollment keys given back");
    } catch (err) {
      log.warn({ err }, "reservations of enrollment keys cannot be swept now");
    } finally {
      running = null;
    }
  };
  const timer = setInterval(() => {
    running ??= sweep();
  }, everyMs);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
