import { type Database, type Query, sql, type Tx } from "@muster/db";
import type { CallContext, Page } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import { type FailedSignIns, providerErrors } from "../../rules/sso/provider-health.ts";
import { ownerVisibleTo } from "./providers.ts";

export type AttemptRow = {
  id: string;
  provider_id: string;
  partner_id: string;
  org_id: string | null;
  kind: "login" | "link";
  outcome: "success" | "failure";
  step: string;
  reason: string | null;
  detail: string | null;
  email: string | null;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  created_at: Date;
};

/** Kept of each provider. */
const kept = 50;

/** Notes how a login flow ended; of each provider the newest 50 stay. */
export async function insertAttempt(tx: Tx, a: AttemptRow): Promise<void> {
  await tx.execute(sql`
    INSERT INTO sso_attempts (id, provider_id, partner_id, org_id, kind, outcome, step, reason, detail, email, address,
                              user_agent, request_id, created_at)
    VALUES (${a.id}, ${a.provider_id}, ${a.partner_id}, ${a.org_id}, ${a.kind}, ${a.outcome}, ${a.step}, ${a.reason},
            ${a.detail?.slice(0, 4_096) ?? null}, ${a.email}, ${a.address}, ${a.user_agent}, ${a.request_id}, ${a.created_at})`);
  await tx.execute(sql`
    DELETE FROM sso_attempts t WHERE t.provider_id = ${a.provider_id} AND t.id IN (
      SELECT id FROM sso_attempts WHERE provider_id = ${a.provider_id} ORDER BY created_at DESC, id DESC OFFSET ${kept})`);
}

const columns = sql`t.id, t.provider_id, t.partner_id, t.org_id, t.kind, t.outcome, t.step, t.reason, t.detail,
  t.email, t.address, t.user_agent, t.request_id, t.created_at`;

/** The newest sign-ins through a provider, or with null through all that are visible to the caller. */
export function listAttempts(
  db: Database,
  who: CallContext,
  providerId: string | null,
  page: Page,
): Promise<ListPage<AttemptRow>> {
  const where = providerId === null ? sql`true` : sql`t.provider_id = ${providerId}`;
  const list = { table: sql`sso_attempts`, columns, where, visible: ownerVisibleTo(who.caller) };
  return readNewestPage<AttemptRow>(db, who, list, page);
}

/** One sign-in, or null when missing, dropped for newer ones, or not visible to the caller. */
export async function findAttempt(db: Database, who: CallContext, id: string): Promise<AttemptRow | null> {
  const [row] = await db.read<AttemptRow>(
    who,
    sql`SELECT ${columns} FROM sso_attempts t WHERE t.id = ${id} AND ${ownerVisibleTo(who.caller)}`,
  );
  return row ?? null;
}

/** Aggregates of the sign-ins through a provider that ended by an error of it since the last success. */
export const failedThrough = (provider: Query): Query => sql`(
  SELECT count(*)::int AS count, min(a.created_at) AS since,
         (array_agg(a.reason ORDER BY a.created_at DESC, a.id DESC))[1] AS reason
  FROM sso_attempts a
  WHERE a.provider_id = ${provider} AND a.outcome = 'failure' AND a.reason = ANY (${[...providerErrors]}::text[])
    AND a.created_at > coalesce((SELECT max(s.created_at) FROM sso_attempts s
                                 WHERE s.provider_id = ${provider} AND s.outcome = 'success'), '-infinity'))`;

/**
 * By provider: the sign-ins that ended by an error of the provider since the last success, of the newest 50 (index
 * sso_attempts_newest). Providers without any are omitted.
 */
export async function failedSignIns(tx: Tx, providers: readonly { id: string }[]): Promise<Map<string, FailedSignIns>> {
  const ids = providers.map(({ id }) => id);
  const rows = await tx.query<FailedSignIns & { id: string }>(sql`
    SELECT p.id, f.* FROM unnest(${ids}::uuid[]) AS p (id) CROSS JOIN LATERAL ${failedThrough(sql`p.id`)} f
    WHERE f.count > 0`);
  return new Map(rows.map(({ id, ...failed }) => [id, failed]));
}
