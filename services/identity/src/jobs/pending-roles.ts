import type { Database } from "@muster/db";
import { type Logger, type Repeating, repeatEvery } from "@muster/kit";
import { applyPendingRoles } from "../commands/directory/pending-roles.ts";
import { directoriesWithPending } from "../store/directory/pending-roles.ts";

const everyMs = 5_000;
/** Milliseconds for one directory before the next one has its turn. */
const turnMs = 5_000;

type Deps = { db: Database; now: () => Date; log: Logger };

/** Applies roles that are still pending after the request that caused it, or after a crash. */
export function startPendingRoles(deps: Deps): Repeating {
  const apply = async () => {
    for (const directory of await directoriesWithPending(deps.db)) {
      await applyPendingRoles(deps, directory, performance.now() + turnMs);
    }
  };
  return repeatEvery(everyMs, apply, (err) => deps.log.warn({ err }, "pending roles cannot be applied now"));
}
