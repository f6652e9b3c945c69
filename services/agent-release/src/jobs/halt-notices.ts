import type { Database } from "@muster/db";
import { keepWorking, type Logger, type Repeating } from "@muster/kit";
import type { NotificationClient } from "@muster/service";
import { delayHaltNotice, dueHaltNotices, removeHaltNotice } from "../store/halt-notices.ts";

type Deps = { db: Database; log: Logger; now: () => Date; notify: NotificationClient["notify"] };

/** The people of the rollout's owner: administrators of the platform, or those who may roll out for the partner. */
const readersOf = (partnerId: string | null) =>
  partnerId === null
    ? ({ permission: "platform:admin", orgId: null, partnerId, authorId: null, to: "platform" } as const)
    : ({ permission: "partner:policy", orgId: null, partnerId, authorId: null, to: "partner" } as const);
const everyMs = 5_000;
const batch = 20;
/** Pause after a failure, in seconds. */
const delaySeconds = 30;
/** A notice that is older says nothing new. */
const lifeMs = 86_400_000;

/**
 * Passes noted halts on to identity; returns how many. One that was passed on by a process that was killed is passed on
 * again, under the same id.
 */
export async function passHaltNotices({ db, log, now, notify }: Deps): Promise<number> {
  let passed = 0;
  for (const { id, rollout_id: rolloutId, partner_id: partnerId, line, created_at: createdAt } of await dueHaltNotices(
    db,
    batch,
  )) {
    try {
      const link = `/releases/rollouts/${rolloutId}`;
      await notify({ id, kind: "rollout_halted", line, link, ...readersOf(partnerId) });
      await removeHaltNotice(db, id);
      passed += 1;
    } catch (err) {
      const isOld = now().getTime() - createdAt.getTime() > lifeMs;
      log.warn({ err, rolloutId, dropped: isOld }, "nobody can be notified of a halted rollout now");
      await (isOld ? removeHaltNotice(db, id) : delayHaltNotice(db, id, delaySeconds));
    }
  }
  return passed;
}

/** Passes halts on until stopped. */
export function startHaltNotices(deps: Deps): Repeating {
  return keepWorking(
    everyMs,
    () => passHaltNotices(deps),
    (err) => deps.log.warn({ err }, "halt notices cannot be read now"),
  );
}
