import type { Database, Tx } from "@muster/db";
import { alertFiredType, counter, type Logger, ownMeta, systemCaller } from "@muster/kit";
import { auditEvent, type NotificationClient, type PlatformFact, platformEvent } from "@muster/service";
import { firingsOf, lineOf } from "../rules/alert-firing.ts";
import {
  alertsOf,
  type CoveredChain,
  claimFiring,
  countedTimes,
  type DueFiring,
  endAlert,
  insertFiring,
  lockChainWithNews,
  matchedRows,
  moveCursor,
  postponeFiring,
  recordFiring,
  removeFiring,
  storeTimes,
} from "../store/alert-work.ts";
import { type AlertRow, findAlert, thresholdOf } from "../store/alerts.ts";

export type AlertDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  notifications: Pick<NotificationClient, "notify" | "findAuthor">;
};

/** What authors and recipients of alerts must hold in the tenant. */
export const readingPermission = "audit:read";
const who = { caller: systemCaller("audit") };
const batchRows = 500;
/** Above the time of a call to identity. */
const leaseMs = 30_000;
const longestPauseMs = 60_000;
const fired = counter("muster_audit_alerts_fired_total", "Alerts of audit rows that fired, by outcome.", ["outcome"], {
  outcome: ["sent", "refused", "ended"],
});

/** Compares the next rows of one chain with the alerts that cover it, once; false when no chain has new rows. */
export function compareNextRows({ db, now }: Pick<AlertDeps, "db" | "now">): Promise<boolean> {
  return db.tx(who, async (tx) => {
    const chain = await lockChainWithNews(tx);
    if (!chain) return false;
    const toSeq = Math.min(chain.seq + batchRows, chain.head);
    const range = { chainId: chain.chain_id, afterSeq: chain.seq, toSeq };
    for (const alert of await alertsOf(tx, chain)) {
      await fire(tx, alert, chain, await matchedRows(tx, alert, range), now());
    }
    await moveCursor(tx, chain.chain_id, toSeq);
    return true;
  });
}

async function fire(
  tx: Tx,
  alert: AlertRow,
  chain: CoveredChain,
  rows: Parameters<typeof firingsOf>[2],
  now: Date,
): Promise<void> {
  if (rows.length === 0) return;
  const threshold = thresholdOf(alert);
  const before = threshold ? await countedTimes(tx, alert.id, chain.chain_id) : [];
  const { firings, times } = firingsOf(threshold, before, rows);
  for (const each of firings) await insertFiring(tx, alert.id, chain, each, now);
  if (threshold) await storeTimes(tx, alert.id, chain.chain_id, times);
}

/**
 * Sends one firing that is due: to identity, which knows who may read it, and to the organization's webhooks. Both
 * recognise a repeat. False when none is due.
 */
export async function sendNextFiring(deps: AlertDeps): Promise<boolean> {
  const { db, log, now, notifications } = deps;
  const firing = await claimFiring(db, leaseMs, now());
  if (!firing) return false;
  const alert = await findAlert(db, who, firing.alert_id);
  // Deleted meanwhile, with its firings.
  if (!alert) return true;
  const { chain_org_id: orgId, chain_partner_id: partnerId } = firing;
  const about = { permission: readingPermission, orgId, partnerId };
  try {
    const line = lineOf(alert.name, firing);
    const notice = { id: firing.id, kind: "audit_alert", line, link: "/audit", ...about } as const;
    const author = await notifications.notify({ ...notice, authorId: alert.author_id, to: alert.recipients });
    if (author === "missing") await endOrphan(deps, alert);
    else await settle(deps, alert, firing, author);
  } catch (err) {
    const pauseMs = Math.min(longestPauseMs, 1_000 * 2 ** (firing.attempts - 1));
    log.warn({ err, alertId: alert.id, attempts: firing.attempts }, "alert not sent, tried again later");
    await postponeFiring(db, firing, new Date(now().getTime() + pauseMs));
  }
  return true;
}

function settle(
  { db, now }: AlertDeps,
  alert: AlertRow,
  firing: DueFiring,
  author: "allowed" | "refused",
): Promise<void> {
  return db.tx(who, async (tx) => {
    if (!(await removeFiring(tx, firing))) return;
    if (author === "refused") {
      fired.inc({ outcome: "refused" });
      return recordFiring(tx, firing, "The user who set it may no longer read these audit rows");
    }
    fired.inc({ outcome: "sent" });
    await recordFiring(tx, firing, null);
    if (!alert.webhook || !alert.org_id || !alert.partner_id) return;
    const data = {
      alertId: alert.id,
      name: alert.name,
      template: alert.template,
      count: firing.rows,
      firedAt: firing.fired_at.toISOString(),
      rows: firing.sample,
    };
    const fact: PlatformFact = {
      id: firing.id,
      type: alertFiredType,
      orgId: alert.org_id,
      partnerId: alert.partner_id,
      data,
    };
    tx.emit(platformEvent("audit", fact, null, now()));
  });
}

/** Ends an alert whose author is no longer a user. */
export function endOrphan({ db, now }: Pick<AlertDeps, "db" | "now">, alert: AlertRow): Promise<void> {
  return db.tx(who, async (tx) => {
    const at = now();
    const ended = await endAlert(tx, alert.id, "The user who set it is no longer a user", at);
    if (!ended) return;
    fired.inc({ outcome: "ended" });
    const meta = ownMeta();
    const fact = {
      action: "audit.alert.end",
      resource: { type: "audit_alert", id: alert.id, name: alert.name },
      orgId: alert.org_id,
      partnerId: alert.partner_id,
      details: { reason: "author_missing", authorId: alert.author_id },
    };
    tx.emit(auditEvent("audit", { ...who, meta }, fact, at));
  });
}
