import type { Database } from "@muster/db";
import { type Logger, type Repeating, repeatEvery } from "@muster/kit";
import { markEndedKeys } from "../store/api-keys.ts";
import { removeOldFailures } from "../store/failures.ts";
import { forgetOldLeases } from "../store/gateways.ts";
import { removeOldLinks } from "../store/portal-links.ts";
import { removeIdleWindows } from "../store/rate-windows.ts";
import { removeOldRefusals } from "../store/refusals.ts";

const everyMs = 60_000;
const batchRows = 5_000;

/**
 * Each minute marks expired API keys, and removes rate windows, failures and refusals that no longer count, portal
 * links that ended a day ago, old acknowledgements and gateways that have left.
 */
export function startEdgeCleanup({ db, log }: { db: Database; log: Logger }): Repeating {
  const clean = async () => {
    await forgetOldLeases(db);
    while ((await markEndedKeys(db, batchRows)) === batchRows);
    while ((await removeIdleWindows(db, batchRows)) === batchRows);
    while ((await removeOldFailures(db, batchRows, new Date())) === batchRows);
    while ((await removeOldLinks(db, batchRows)) === batchRows);
    while ((await removeOldRefusals(db, batchRows, new Date())) === batchRows);
  };
  return repeatEvery(everyMs, clean, (err) =>
    log.warn({ err }, "keys, rate windows, failures, refusals and leases not cleaned up"),
  );
}
