import { type Database, sql, type Tx, type Who } from "@muster/db";
import { defaultPolicy, type RetentionPolicy } from "../rules/retention.ts";

export type StoredPolicy = RetentionPolicy & { lastCleanupAt: Date | null; now: Date };

type PolicyRow = {
  retention_days: number | null;
  archive_to_s3: boolean | null;
  pending_retention_days: number | null;
  pending_from: Date | null;
  last_cleanup_at: Date | null;
  now: Date;
};

const selectPolicy = (orgId: string) => sql`
  SELECT p.retention_days, p.archive_to_s3, p.pending_retention_days, p.pending_from, c.last_cleanup_at,
         date_trunc('milliseconds', now()) AS now
  FROM (SELECT) one
  LEFT JOIN retention_policy p ON p.org_id = ${orgId}
  LEFT JOIN chain_cleanup c ON c.chain_id = ${orgId}`;

/** The policy of an organization as it was last set, the defaults without one, and the database's time. */
export async function findPolicy(db: Database, who: Who, orgId: string): Promise<StoredPolicy> {
  return policyOf(await db.read<PolicyRow>(who, selectPolicy(orgId)));
}

/** As findPolicy; locks the policy until the end of the transaction. */
export async function lockPolicy(tx: Tx, orgId: string, partnerId: string): Promise<StoredPolicy> {
  await tx.execute(sql`
    INSERT INTO retention_policy (org_id, partner_id) VALUES (${orgId}, ${partnerId}) ON CONFLICT (org_id) DO NOTHING`);
  await tx.query(sql`SELECT FROM retention_policy WHERE org_id = ${orgId} FOR UPDATE`);
  return policyOf(await tx.query<PolicyRow>(selectPolicy(orgId)));
}

export async function storePolicy(tx: Tx, orgId: string, policy: RetentionPolicy): Promise<void> {
  const { retentionDays, archiveToS3, pending } = policy;
  await tx.execute(sql`
    UPDATE retention_policy SET retention_days = ${retentionDays}, archive_to_s3 = ${archiveToS3},
      pending_retention_days = ${pending?.retentionDays ?? null}, pending_from = ${pending?.from ?? null},
      version = version + 1, updated_at = now()
    WHERE org_id = ${orgId}`);
}

function policyOf([row]: readonly PolicyRow[]): StoredPolicy {
  if (!row) throw new Error("the policy's row did not come");
  const { pending_retention_days: days, pending_from: from } = row;
  return {
    retentionDays: row.retention_days ?? defaultPolicy.retentionDays,
    archiveToS3: row.archive_to_s3 ?? defaultPolicy.archiveToS3,
    pending: days !== null && from !== null ? { retentionDays: days, from } : null,
    lastCleanupAt: row.last_cleanup_at,
    now: row.now,
  };
}

/** Whether the copy of the tenants knows the organization as deleted. */
export async function isDeleted(db: Database, who: Who, orgId: string): Promise<boolean> {
  const rows = await db.read(who, sql`SELECT FROM tenant WHERE kind = 'organization' AND id = ${orgId} AND deleted`);
  return rows.length > 0;
}
