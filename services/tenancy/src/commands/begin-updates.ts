import type { Database } from "@muster/db";
import { type RequestMeta, systemCaller } from "@muster/kit";
import { emitDevice } from "../emits/device.ts";
import { type StartedUpdate, storeEndedUpdates, storeStartedUpdates } from "../store/presence.ts";

/**
 * Marks devices as updating from now on, emits their events, and returns the ids of those marked: quarantined and
 * deleted ones are not, nor those that another transaction has locked.
 */
export function beginUpdates(db: Database, meta: RequestMeta, updates: readonly StartedUpdate[]): Promise<string[]> {
  const caller = systemCaller("tenancy");
  return db.tx(
    { caller },
    async (tx) => {
      const { started, ids } = await storeStartedUpdates(tx, caller, updates);
      for (const row of started) emitDevice(tx, { meta }, "updated", row);
      return ids;
    },
    { retry: true },
  );
}

/** Marks devices that are updating as online, and emits their events; they sent a heartbeat just now. */
export function endUpdates(
  db: Database,
  meta: RequestMeta,
  deviceIds: readonly string[],
  intervalSeconds: number,
): Promise<void> {
  const caller = systemCaller("tenancy");
  return db.tx(
    { caller },
    async (tx) => {
      for (const row of await storeEndedUpdates(tx, caller, deviceIds, intervalSeconds)) {
        emitDevice(tx, { meta }, "updated", row, "device.online");
      }
    },
    { retry: true },
  );
}
