import { sql, type Tx } from "@muster/db";
import type { Caller } from "@muster/kit";
import { ofOrganization } from "@muster/service";
import { rowsInScope } from "./device-scope.ts";

export type Quarantined = {
  count: number;
  since: Date;
  /** One of them. */
  id: string;
  hostname: string;
  org_id: string;
  partner_id: string;
};

/** Devices that are counted. */
const countedMax = 10_000;

/** Quarantined devices in scope, of one organization or of all, and the oldest of them; null when there are none. */
export async function quarantinedDevices(tx: Tx, caller: Caller, orgId: string | null): Promise<Quarantined | null> {
  const where = sql`t.status = 'quarantined' AND ${rowsInScope(caller)} AND ${ofOrganization(orgId)}`;
  const [row] = await tx.query<Quarantined>(sql`
    SELECT o.id, o.hostname, o.org_id, o.partner_id, o.created_at AS since, c.count
    FROM (SELECT count(*)::int AS count, min(created_at) AS oldest
          FROM (SELECT created_at FROM devices t WHERE ${where} LIMIT ${countedMax}) q) c
    JOIN LATERAL (SELECT id, hostname, org_id, partner_id, created_at FROM devices t
                  WHERE ${where} AND created_at = c.oldest LIMIT 1) o ON true`);
  return row ?? null;
}
