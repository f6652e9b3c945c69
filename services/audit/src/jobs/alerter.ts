import { type Repeating, repeatEvery, systemCaller } from "@muster/kit";
import {
  type AlertDeps,
  compareNextRows,
  endOrphan,
  readingPermission,
  sendNextFiring,
} from "../commands/fire-alerts.ts";
import { alignCursors, claimUnchecked, isAnyCursorNeeded } from "../store/alert-work.ts";

const who = { caller: systemCaller("audit") };
const pollMs = 1_000;
const checkMs = 60_000;
const checkedWithinMs = 3_600_000;
const checkedAtOnce = 100;

/** Compares new rows with alerts and sends what fired, until stopped; several replicas share the work. */
export function startAlerter(deps: AlertDeps): Repeating {
  const { log } = deps;
  const failed = (what: string) => (err: unknown) => log.warn({ err }, what);
  const jobs = [
    repeatEvery(pollMs, () => compareNewRows(deps), failed("rows cannot be compared with alerts now")),
    repeatEvery(pollMs, () => sendFirings(deps), failed("alerts cannot be sent now")),
    repeatEvery(checkMs, () => endOrphans(deps), failed("authors of alerts cannot be checked now")),
  ];
  return {
    async stop() {
      await Promise.all(jobs.map((job) => job.stop()));
    },
  };
}

/** Compares every row that is sealed by now. */
export async function compareNewRows({ db, now }: Pick<AlertDeps, "db" | "now">): Promise<void> {
  // Only reads: an idle cluster writes nothing.
  if (!(await db.inOneBatch(who, isAnyCursorNeeded, { readOnly: true }))) return;
  await db.tx(who, alignCursors);
  let isMore = true;
  while (isMore) isMore = await compareNextRows({ db, now });
}

/** Sends everything that is due. */
export async function sendFirings(deps: AlertDeps): Promise<void> {
  let isMore = true;
  while (isMore) isMore = await sendNextFiring(deps);
}

/** Ends the alerts of users who are gone; each alert is looked at once an hour. */
export async function endOrphans(deps: AlertDeps): Promise<void> {
  const at = deps.now();
  const before = new Date(at.getTime() - checkedWithinMs);
  for (const alert of await claimUnchecked(deps.db, before, at, checkedAtOnce)) {
    const about = { permission: readingPermission, orgId: alert.org_id, partnerId: alert.partner_id };
    if ((await deps.notifications.findAuthor({ ...about, authorId: alert.author_id })) === "missing")
      await endOrphan(deps, alert);
  }
}
