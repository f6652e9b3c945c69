import type { Database, Tx } from "@muster/db";
import { counter, type Logger, systemCaller } from "@muster/kit";
import type { Storage } from "../clients/storage.ts";
import { service } from "../config.ts";
import { lockFiles, unusedFiles } from "../store/files.ts";
import type { Prepared } from "./register-release.ts";

const removals = counter("muster_agent_release_file_removals_total", "Files removed from the store, by outcome.", [
  "outcome",
]);
const removingMs = 30_000;

/**
 * Removes files that no release names any more from the store. A failure is logged and leaves them stored: the release
 * is deleted nevertheless.
 */
export async function removeUnused(
  { db, storage, log }: { db: Database; storage: Storage | null; log: Logger },
  digests: readonly string[],
): Promise<void> {
  if (storage === null || digests.length === 0) return;
  const who = { caller: systemCaller(service), deadlineMs: performance.now() + removingMs };
  try {
    await db.tx(who, async (tx) => {
      await lockFiles(tx, { remove: true });
      for (const sha256 of await unusedFiles(tx, digests)) {
        await storage.remove(sha256);
        removals.inc({ outcome: "removed" });
      }
    });
  } catch (err) {
    removals.inc({ outcome: "failed" });
    log.warn({ err, digests }, "files that no release names stay in the store");
  }
}

/**
 * Names of the files of a release about to be registered that are missing in the store: another release with the same
 * bytes was deleted since they were stored. Blocks removals until the transaction ends.
 */
export async function goneFiles(tx: Tx, storage: Storage | null, prepared: readonly Prepared[]): Promise<string[]> {
  await lockFiles(tx, { remove: false });
  const stored = prepared.flatMap(({ manifest, files }) =>
    manifest.artifacts.filter(({ name }) => files.get(name)?.stored),
  );
  const isThere = await Promise.all(stored.map(async ({ sha256 }) => (await storage?.has(sha256)) ?? false));
  return stored.filter((_, at) => !isThere[at]).map(({ name }) => name);
}
