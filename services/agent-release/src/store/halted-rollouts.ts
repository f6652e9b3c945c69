import { type Query, sql, type Tx } from "@muster/db";
import { type PartRow, partColumns } from "./rollout-parts.ts";
import { type RolloutsOf, type ShownRollout, shown } from "./rollouts.ts";

/** Whose rollouts `t` are meant besides the platform's: one partner's, else an organization's partner's, else all. */
function ofOwner({ partnerId }: RolloutsOf, orgId: string | null): Query {
  if (partnerId !== null) return sql`(t.partner_id IS NULL OR t.partner_id = ${partnerId}::uuid)`;
  if (orgId === null) return sql`true`;
  return sql`(t.partner_id IS NULL OR t.partner_id =
    (SELECT n.partner_id FROM tenant n WHERE n.kind = 'organization' AND n.id = ${orgId}::uuid))`;
}

/** Rollouts that are halted as a whole or in a part, newest first; ended ones are left out. */
export function haltedRollouts(
  tx: Tx,
  visible: RolloutsOf,
  orgId: string | null,
  most: number,
): Promise<ShownRollout[]> {
  return tx.query<ShownRollout>(sql`
    SELECT ${shown} FROM rollout t
    WHERE ${ofOwner(visible, orgId)}
      AND (t.state = 'halted'
           OR (t.state = 'running' AND t.id IN (SELECT p.rollout_id FROM rollout_part p WHERE p.halted_at IS NOT NULL)))
    ORDER BY t.created_at DESC, t.id DESC LIMIT ${most}`);
}

/** Halted parts of rollouts that run (index rollout_part_halted). */
export function haltedPartsOfRunning(tx: Tx, visible: RolloutsOf, orgId: string | null): Promise<PartRow[]> {
  return tx.query<PartRow>(sql`
    SELECT ${partColumns} FROM rollout_part
    WHERE halted_at IS NOT NULL
      AND rollout_id IN (SELECT t.id FROM rollout t WHERE t.state = 'running' AND ${ofOwner(visible, orgId)})
    ORDER BY halted_at, kind, name`);
}
