import type { Database } from "@muster/db";
import { keepWorking, type Logger, type Repeating } from "@muster/kit";
import type { NotificationClient } from "@muster/service";
import { delayHealthNotice, dueHealthNotices, removeHealthNotice } from "../store/health-notices.ts";

type Deps = { db: Database; log: Logger; notify: NotificationClient["notify"] };

const everyMs = 5_000;
const batch = 20;
/** Pause after a failure, in seconds. */
const delaySeconds = 30;

/**
 * Passes lines about the health of webhooks on to identity; returns how many. One that was passed on by a process that
 * was killed, or by two at once, is there once: identity knows its id.
 */
export async function passHealthNotices({ db, log, notify }: Deps): Promise<number> {
  let passed = 0;
  for (const { id, line, webhook_id: webhookId, ...notice } of await dueHealthNotices(db, batch)) {
    const about = { permission: "webhooks:read", orgId: notice.org_id, partnerId: notice.partner_id, authorId: null };
    try {
      const link = `/webhooks/${webhookId}`;
      await notify({ id, kind: "webhook_health", line, link, ...about, to: notice.user_ids });
      await removeHealthNotice(db, id);
      passed += 1;
    } catch (err) {
      log.warn({ err, webhookId }, "nobody can be notified of a webhook's health now");
      await delayHealthNotice(db, id, delaySeconds);
    }
  }
  return passed;
}

/** Passes lines on until stopped. */
export function startHealthNotices(deps: Deps): Repeating {
  return keepWorking(
    everyMs,
    () => passHealthNotices(deps),
    (err) => deps.log.warn({ err }, "notices of health cannot be read now"),
  );
}
