import { sql, type Tx } from "@muster/db";
import type { Policy, Settings } from "../rules/settings.ts";
import type { Day } from "../rules/window.ts";

export type SettingsRow = {
  partner_id: string;
  org_id: string | null;
  agent_target: string | null;
  watchdog_target: string | null;
  update_policy: Policy | null;
  window_days: Day[] | null;
  window_start: number | null;
  window_end: number | null;
  rollback_note: string | null;
};

const columns = sql`partner_id, org_id, agent_target, watchdog_target, update_policy, window_days, window_start, window_end,
  rollback_note`;

/** What partners and their organizations set, in rows. */
export function settingsOfPartners(tx: Tx, partnerIds: readonly string[]): Promise<SettingsRow[]> {
  return tx.query<SettingsRow>(
    sql`SELECT ${columns} FROM update_settings WHERE partner_id = ANY (${[...partnerIds]}::uuid[])`,
  );
}

/** The partner's row and one organization's. */
export function settingsFor(tx: Tx, partnerId: string, orgId: string | null): Promise<SettingsRow[]> {
  return tx.query<SettingsRow>(sql`
    SELECT ${columns} FROM update_settings
    WHERE partner_id = ${partnerId}::uuid AND (org_id IS NULL OR org_id = ${orgId}::uuid)`);
}

/** Locks this level's settings until the end of the transaction. */
export async function lockSettings(tx: Tx, partnerId: string, orgId: string | null): Promise<void> {
  await tx.execute(
    sql`SELECT pg_advisory_xact_lock(hashtextextended(${`agent-updates/${partnerId}/${orgId ?? ""}`}, 0))`,
  );
}

export async function putSettings(
  tx: Tx,
  of: { partnerId: string; orgId: string | null },
  s: Settings,
  at: Date,
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO update_settings AS u (${columns}, updated_at)
    VALUES (${of.partnerId}, ${of.orgId}, ${s.agentTarget}, ${s.watchdogTarget}, ${s.updatePolicy}, ${s.windowDays}::text[],
            ${s.windowStart}, ${s.windowEnd}, ${s.rollbackNote ?? null}, ${at})
    ON CONFLICT (partner_id, coalesce(org_id, '00000000-0000-0000-0000-000000000000'::uuid)) DO UPDATE
    SET agent_target = excluded.agent_target, watchdog_target = excluded.watchdog_target, update_policy = excluded.update_policy,
        window_days = excluded.window_days, window_start = excluded.window_start, window_end = excluded.window_end,
        rollback_note = excluded.rollback_note,
        version = u.version + 1, updated_at = excluded.updated_at`);
}

export function settingsOf(row: SettingsRow): Settings {
  return {
    agentTarget: row.agent_target,
    watchdogTarget: row.watchdog_target,
    updatePolicy: row.update_policy,
    windowDays: row.window_days,
    windowStart: row.window_start,
    windowEnd: row.window_end,
    rollbackNote: row.rollback_note,
  };
}
