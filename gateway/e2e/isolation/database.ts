import { until } from "@muster/testing";
import pg from "pg";
import type { Cluster } from "../support/cluster.ts";

export type Owner = {
  /** Rows as the owner of the tables sees them: row-level security does not hold them back. */
  rows<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  close(): Promise<void>;
};

/** Direct access to the cluster's database. */
export async function ownerOf(cluster: Cluster): Promise<Owner> {
  const pool = new pg.Pool({ connectionString: (await cluster.stack()).databaseUrl, max: 2 });
  return {
    rows: async <R extends object>(text: string, values: unknown[] = []) => (await pool.query<R>(text, values)).rows,
    close: () => pool.end(),
  };
}

/** Resolves when each audit row that was emitted for these partners and organizations is sealed. */
export async function audited(owner: Owner, chainIds: readonly string[]): Promise<void> {
  await until(
    "the audit rows to be sealed",
    async () => {
      const [row] = await owner.rows<{ missing: string }>(
        `SELECT count(*) AS missing FROM (
           SELECT msg_id FROM tenancy.outbox WHERE subject LIKE 'audit.%' UNION ALL
           SELECT msg_id FROM webhook_dispatcher.outbox WHERE subject LIKE 'audit.%' UNION ALL
           SELECT msg_id FROM audit.outbox WHERE subject LIKE 'audit.%' UNION ALL
           SELECT msg_id FROM agent_release.outbox WHERE subject LIKE 'audit.%' UNION ALL
           SELECT msg_id FROM device_logs.outbox WHERE subject LIKE 'audit.%' UNION ALL
           SELECT msg_id FROM identity.outbox WHERE subject LIKE 'audit.%') AS said
         WHERE split_part(msg_id, '/', 1) = ANY ($1::text[]) AND NOT EXISTS (
           SELECT FROM audit.audit_log l
           WHERE l.chain_id = split_part(msg_id, '/', 1)::uuid AND l.id = split_part(msg_id, '/', 2)::uuid)`,
        [[...chainIds]],
      );
      return row?.missing === "0";
    },
    30_000,
  );
}
