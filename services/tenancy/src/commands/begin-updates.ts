import type { Database } from "@muster/db";
import { type RequestMeta, systemCaller } from "@muster/kit";
import { emitDevice } from "../emits/device.ts";
import { type BegunUpdate, beginUpdates as begin } from "../store/presence.ts";

/**
 * Marks devices as updating from now on, emits their events, and returns the ids of those marked: quarantined and
 * deleted ones are not, nor those that another transaction has locked.
 */
export function beginUpdates(db: Database, meta: RequestMeta, updates: readonly BegunUpdate[]): Promise<string[]> {
  const caller = systemCaller("tenancy");
  return db.tx(
    { caller },
    async (tx) => {
      const { begun, ids } = await begin(tx, caller, updates);
      for (const row of begun) emitDevice(tx, { meta }, "updated", row);
      return ids;
    },
    { retry: true },
  );
}
