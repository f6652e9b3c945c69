import type { Database } from "@muster/db";
import type { Logger } from "@muster/kit";
import { forgetOldLeases } from "../store/gateways.ts";
import { removeIdleWindows } from "../store/rate-windows.ts";

const everyMs = 60_000;
const batchRows = 5_000;

/** Each minute removes rate windows without counts, old acknowledgements and gateways that are gone. */
export function startEdgeCleanup({ db, log }: { db: Database; log: Logger }): { stop(): void } {
  const clean = async () => {
    await forgetOldLeases(db);
    while ((await removeIdleWindows(db, batchRows)) === batchRows);
  };
  const timer = setInterval(() => {
    clean().catch((err: unknown) => log.warn({ err }, "rate windows and leases not cleaned up"));
  }, everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
