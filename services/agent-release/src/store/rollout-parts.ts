import { sql, type Tx } from "@muster/db";
import type { PartKind } from "../rules/rollout.ts";

/** Counters of a rollout for one organization, or for one os/arch. */
export type PartRow = {
  rollout_id: string;
  kind: PartKind;
  /** Id of the organization, or os/arch. */
  name: string;
  org_id: string | null;
  partner_id: string | null;
  in_flight: number;
  succeeded: number;
  failed: number;
  failures_before_resume: number;
  first_ended: boolean;
  halted_at: Date | null;
  reason: string | null;
};
export type PartKey = Pick<PartRow, "rollout_id" | "kind" | "name">;

export const partColumns = sql`rollout_id, kind, name, org_id, partner_id, in_flight, succeeded, failed, failures_before_resume, first_ended,
  halted_at, reason`;

/** Parts that exist; the caller has locked their rollouts where it writes them. */
export function findParts(tx: Tx, keys: readonly PartKey[]): Promise<PartRow[]> {
  return tx.query<PartRow>(sql`
    SELECT ${partColumns} FROM rollout_part
    WHERE (rollout_id, kind, name) IN (
      SELECT * FROM unnest(${keys.map((key) => key.rollout_id)}::uuid[], ${keys.map(({ kind }) => kind)}::text[],
                           ${keys.map(({ name }) => name)}::text[]))`);
}

/** The parts of all rollouts that a device belongs to. */
export function partsOfAll(tx: Tx, names: readonly Pick<PartRow, "kind" | "name">[]): Promise<PartRow[]> {
  return tx.query<PartRow>(sql`
    SELECT ${partColumns} FROM rollout_part
    WHERE (kind, name) IN (
      SELECT * FROM unnest(${names.map(({ kind }) => kind)}::text[], ${names.map(({ name }) => name)}::text[]))`);
}

/** Halted parts of these rollouts, or of all (index rollout_part_halted). */
export function haltedParts(tx: Tx, rolloutIds: readonly string[] | null): Promise<PartRow[]> {
  const ofThese = rolloutIds === null ? sql`true` : sql`rollout_id = ANY (${[...rolloutIds]}::uuid[])`;
  return tx.query<PartRow>(sql`
    SELECT ${partColumns} FROM rollout_part WHERE halted_at IS NOT NULL AND ${ofThese} ORDER BY halted_at, kind, name`);
}

/** Writes parts of locked rollouts. */
export async function putParts(tx: Tx, parts: readonly PartRow[]): Promise<void> {
  if (parts.length === 0) return;
  const of = <K extends keyof PartRow>(name: K) => parts.map((part) => part[name]);
  await tx.execute(sql`
    INSERT INTO rollout_part (${partColumns})
    SELECT * FROM unnest(${of("rollout_id")}::uuid[], ${of("kind")}::text[], ${of("name")}::text[], ${of("org_id")}::uuid[],
      ${of("partner_id")}::uuid[], ${of("in_flight")}::int[], ${of("succeeded")}::int[], ${of("failed")}::int[],
      ${of("failures_before_resume")}::int[], ${of("first_ended")}::boolean[], ${of("halted_at")}::timestamptz[],
      ${of("reason")}::text[])
    ON CONFLICT (rollout_id, kind, name) DO UPDATE
    SET in_flight = excluded.in_flight, succeeded = excluded.succeeded, failed = excluded.failed,
        failures_before_resume = excluded.failures_before_resume, first_ended = excluded.first_ended,
        halted_at = excluded.halted_at, reason = excluded.reason`);
}

/** The failures of all parts of a rollout no longer count, and none is halted. */
export async function resumeParts(tx: Tx, rolloutId: string): Promise<void> {
  await tx.execute(sql`
    UPDATE rollout_part SET failures_before_resume = failed, halted_at = NULL, reason = NULL
    WHERE rollout_id = ${rolloutId}::uuid AND (failed > 0 OR halted_at IS NOT NULL)`);
}
