import type { Database } from "@muster/db";
import { type Logger, type Repeating, repeatEvery, systemCaller } from "@muster/kit";
import { abandonReservations, type Reservation, returnAbandoned } from "../store/enrollment-uses.ts";

const longestMs = 10_000;
const batch = 200;
const parallel = 8;

type Deps = {
  db: Database;
  /** Deletes a device, or prevents its creation (tenancy). */
  discard(deviceId: string): Promise<void>;
  log: Logger;
};

/**
 * Frees every use of an enrollment key that was not confirmed in time; returns their number. Its device is deleted
 * first: a late creation is refused, so that no device remains without a valid token.
 */
export async function sweepOnce({ db, discard, log }: Deps): Promise<number> {
  const caller = systemCaller("identity");
  let returned = 0;
  for (;;) {
    const late = await db.tx({ caller }, (tx) => abandonReservations(tx, batch));
    const gone: Reservation[] = [];
    for (let at = 0; at < late.length; at += parallel) {
      const taken = late.slice(at, at + parallel).map(async (reservation) => {
        try {
          await discard(reservation.deviceId);
          gone.push(reservation);
        } catch (err) {
          // The use stays marked as expired, and the next sweep retries.
          log.warn({ err, deviceId: reservation.deviceId }, "device of an unfinished enrollment not deleted yet");
        }
      });
      await Promise.all(taken);
    }
    if (gone.length > 0) returned += await db.tx({ caller }, (tx) => returnAbandoned(tx, gone));
    if (late.length < batch || gone.length < late.length) return returned;
  }
}

/** Sweeps every ten seconds, or as often as a reservation lasts where that is shorter, until stopped. */
export function startSweeping(deps: Deps & { reservationSeconds: number }): Repeating {
  const { log, reservationSeconds } = deps;
  const everyMs = Math.min(longestMs, reservationSeconds * 1_000);
  const sweep = async () => {
    const returned = await sweepOnce(deps);
    if (returned > 0) log.info({ returned }, "uses of enrollment keys released");
  };
  return repeatEvery(everyMs, sweep, (err) => log.warn({ err }, "reservations of enrollment keys cannot be swept now"));
}
