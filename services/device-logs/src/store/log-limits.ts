import { type Database, sql, type Tx, type Who } from "@muster/db";
import { type EffectiveLimits, type LogLimits, noLimits } from "../rules/log-limits.ts";

type LimitRow = {
  org_id: string;
  rows_per_day: number | null;
  bytes_per_day: number | null;
  agent_log_days: number | null;
  event_log_days: number | null;
};

const columns = sql`org_id, rows_per_day, bytes_per_day, agent_log_days, event_log_days`;

/** The limits of organizations that have some of their own, by id. */
export async function ownLimits(db: Database, who: Who, orgIds: readonly string[]): Promise<Map<string, LogLimits>> {
  const rows = await db.read<LimitRow>(
    who,
    sql`SELECT ${columns} FROM log_limit WHERE org_id = ANY (${[...orgIds]}::uuid[])`,
  );
  return new Map(rows.map((row) => [row.org_id, limitsOf(row)]));
}

/** The limits of an organization, locked until the end of the transaction. */
export async function lockLimits(tx: Tx, orgId: string, partnerId: string): Promise<LogLimits> {
  await tx.execute(sql`
    INSERT INTO log_limit (org_id, partner_id) VALUES (${orgId}::uuid, ${partnerId}::uuid) ON CONFLICT DO NOTHING`);
  const [row] = await tx.query<LimitRow>(
    sql`SELECT ${columns} FROM log_limit WHERE org_id = ${orgId}::uuid FOR UPDATE`,
  );
  return row ? limitsOf(row) : noLimits;
}

export async function storeLimits(tx: Tx, orgId: string, limits: LogLimits): Promise<void> {
  await tx.execute(sql`
    UPDATE log_limit SET rows_per_day = ${limits.rowsPerDay}, bytes_per_day = ${limits.bytesPerDay},
      agent_log_days = ${limits.agentLogDays}, event_log_days = ${limits.eventLogDays}
    WHERE org_id = ${orgId}::uuid`);
}

/** A retention that is shorter than the platform's; nothing of the organization is left before `prunedBefore`. */
export type ShortRetention = {
  orgId: string;
  kind: "agent_log" | "event_log";
  days: number;
  prunedBefore: Date | null;
};

type RetentionRow = LimitRow & { agent_logs_pruned_before: Date | null; events_pruned_before: Date | null };

/** Of all organizations, for a system's transaction. */
export async function shortRetentions(tx: Tx, platform: EffectiveLimits): Promise<ShortRetention[]> {
  const rows = await tx.query<RetentionRow>(sql`
    SELECT ${columns}, agent_logs_pruned_before, events_pruned_before FROM log_limit
    WHERE agent_log_days < ${platform.agentLogDays} OR event_log_days < ${platform.eventLogDays} ORDER BY org_id`);
  return rows.flatMap((row): ShortRetention[] => {
    const { org_id: orgId, agent_log_days: agentDays, event_log_days: eventDays } = row;
    const found: ShortRetention[] = [];
    if (agentDays !== null && agentDays < platform.agentLogDays) {
      found.push({ orgId, kind: "agent_log", days: agentDays, prunedBefore: row.agent_logs_pruned_before });
    }
    if (eventDays !== null && eventDays < platform.eventLogDays) {
      found.push({ orgId, kind: "event_log", days: eventDays, prunedBefore: row.events_pruned_before });
    }
    return found;
  });
}

export async function markPruned(tx: Tx, { orgId, kind }: ShortRetention, before: Date): Promise<void> {
  const column = kind === "agent_log" ? sql`agent_logs_pruned_before` : sql`events_pruned_before`;
  await tx.execute(
    sql`UPDATE log_limit SET ${column} = greatest(${column}, ${before}::timestamptz) WHERE org_id = ${orgId}::uuid`,
  );
}

function limitsOf(row: LimitRow): LogLimits {
  return {
    rowsPerDay: row.rows_per_day,
    bytesPerDay: row.bytes_per_day,
    agentLogDays: row.agent_log_days,
    eventLogDays: row.event_log_days,
  };
}
