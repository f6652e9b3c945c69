import type { Database, Tx } from "@muster/db";
import {
  gauge,
  type Health,
  type HealthStatus,
  healthChangedType,
  isUuid,
  keepWorking,
  type Logger,
  setByHealth,
  systemCaller,
  uuidv7,
} from "@muster/kit";
import { type PlatformFact, platformEvent } from "@muster/service";
import { type HealthThresholds, healthOf } from "../rules/health.ts";
import { changeLine, dueReminder, reminderLine } from "../rules/health-notice.ts";
import { addHealthNotice, removeOldHealthNotices } from "../store/health-notices.ts";
import {
  holdReports,
  noteReminded,
  noteReported,
  type ReportedHealth,
  webhooksWithHealth,
} from "../store/health-reports.ts";

export type HealthReporterDeps = { db: Database; log: Logger; now: () => Date; thresholds: HealthThresholds };

const everyMs = 15_000;
const pageMost = 1_000;
/** Shortest time between two reports of one status of one webhook, in milliseconds. */
const reportMs = 600_000;
const service = "webhook-dispatcher";

const healthGauge = gauge("muster_webhook_dispatcher_webhooks", "Webhooks, by health.", ["health"]);

/** Reports changes of webhooks' health as events and by mail, and counts webhooks by health; until stopped. */
export function startHealthReporter(deps: HealthReporterDeps): { stop(): Promise<void> } {
  return keepWorking(
    everyMs,
    () => reportHealth(deps),
    (err) => deps.log.warn({ err }, "the health of webhooks cannot be reported now"),
  );
}

/**
 * Compares the health of every webhook with what was last reported, and emits an event and a line for mails for each
 * that differs, and lines for those that have failed for long; one process at a time.
 */
export async function reportHealth({ db, now, thresholds }: HealthReporterDeps): Promise<void> {
  const statuses: HealthStatus[] = [];
  const who = { caller: systemCaller(service) };
  for (let afterId: string | null = null, isMore = true; isMore; ) {
    const page: readonly ReportedHealth[] | null = await db.tx(who, async (tx) => {
      if (!(await holdReports(tx))) return null;
      if (afterId === null) await removeOldHealthNotices(tx, now());
      const rows = await webhooksWithHealth(tx, afterId, pageMost);
      for (const row of rows) {
        const health = healthOf(row, thresholds, now());
        statuses.push(health.status);
        if (isDue(row, health, now())) await report(tx, row, health, now());
        await remind(tx, row, health, now());
      }
      return rows;
    });
    if (page === null) return;
    afterId = page.at(-1)?.id ?? null;
    isMore = page.length === pageMost;
  }
  setByHealth(healthGauge, statuses);
}

/** A status that comes back within minutes waits, and is reported then if it is still there. */
function isDue({ reported, reported_at: reportedAt }: ReportedHealth, { status }: Health, now: Date): boolean {
  if (status === reported) return false;
  const last = reportedAt[status];
  return last === undefined || now.getTime() - Date.parse(last) >= reportMs;
}

async function report(tx: Tx, webhook: ReportedHealth, { status, reason }: Health, now: Date): Promise<void> {
  await noteReported(tx, webhook, status, now);
  const {
    id: webhookId,
    name,
    url_shown: url,
    reported: previousStatus,
    org_id: orgId,
    partner_id: partnerId,
  } = webhook;
  const data = { webhookId, name, url, status, previousStatus, reason };
  const fact: PlatformFact = { type: healthChangedType, orgId, partnerId, data, postedBy: "platform" };
  tx.emit(platformEvent(service, fact, null, now));
  await mail(tx, webhook, changeLine(name, { status, reason }, previousStatus), now);
}

async function remind(tx: Tx, webhook: ReportedHealth, health: Health, now: Date): Promise<void> {
  const hours = dueReminder(webhook, health, now);
  if (hours === null) return;
  await noteReminded(tx, webhook, hours);
  await mail(tx, webhook, reminderLine(webhook.name, hours, health), now);
}

/** A webhook that an API key made has nobody until users are chosen: identity finds no user of a key's id. */
async function mail(tx: Tx, webhook: ReportedHealth, line: string, now: Date): Promise<void> {
  const { id, org_id, partner_id, notify_user_ids: chosen, created_by: author } = webhook;
  const userIds = (chosen ?? [author]).filter(isUuid);
  if (userIds.length === 0) return;
  const notice = { id: uuidv7(now.getTime()), webhook_id: id, org_id, partner_id, user_ids: userIds };
  await addHealthNotice(tx, { ...notice, line, created_at: now });
}
