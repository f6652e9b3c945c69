import { type Repeating, repeatEvery } from "@muster/kit";
import { mailDueLines } from "../commands/notify.ts";
import type { NotificationDeps } from "../deps.ts";
import { isAnyDue, removeMailedLines } from "../store/notifications.ts";

const everyMs = 5_000;
const cleanMs = 600_000;
/** Within this time a repeat of a line is recognised. */
const keepIdsMs = 7 * 86_400_000;

/** Queues the mails of notifications that are due, and forgets lines that were mailed long ago, until stopped. */
export function startNotifications(deps: NotificationDeps): Repeating {
  const { db, log, now } = deps;
  const mail = async () => {
    if (!(await isAnyDue(db, now()))) return;
    let isMore = true;
    while (isMore) isMore = await mailDueLines(deps);
  };
  const clean = () => removeMailedLines(db, new Date(now().getTime() - keepIdsMs));
  const mailing = repeatEvery(everyMs, mail, (err) => log.warn({ err }, "notifications cannot be mailed now"));
  const cleaning = repeatEvery(cleanMs, clean, (err) => log.warn({ err }, "notifications cannot be cleaned up now"));
  return {
    async stop() {
      await Promise.all([mailing.stop(), cleaning.stop()]);
    },
  };
}
