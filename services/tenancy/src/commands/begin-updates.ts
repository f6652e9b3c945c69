import type { Database } from "@muster/db";
import { type RequestMeta, systemCaller } from "@muster/kit";
import { emitDevice } from "../emits/device.ts";
import { type BegunUpdate, beginUpdates as begin } from "../store/presence.ts";

/** Shows devices as updating from now on, tells the stream, and returns the ids of those that do: quarantined and gone ones do not. */
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
