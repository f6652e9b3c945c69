import { until } from "@muster/testing";
import type { Api } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import {
  enrollTotp,
  type Membership,
  newOrganization,
  newPartner,
  type RoleKey,
  signedInAs,
  type TestUser,
} from "./users.ts";

export type AuditRow = { action: string; resource: { id: string; name: string }; details: Record<string, unknown> };

/** A signed-in user who has completed a second factor. */
export async function enrolledAs(
  cluster: Cluster,
  role: RoleKey,
  membership: Membership,
): Promise<TestUser & { recoveryCodes: string[] }> {
  const user = await signedInAs(cluster, role, membership);
  const { recoveryCodes } = await enrollTotp(user);
  return { ...user, recoveryCodes };
}

/** A new organization with an administrator, and an administrator of its partner. */
export async function tenantWithAdmins(cluster: Cluster) {
  const partnerId = await newPartner(cluster);
  const orgId = await newOrganization(cluster, partnerId);
  return {
    partnerId,
    orgId,
    admin: await enrolledAs(cluster, "org-admin", { orgId }),
    partnerAdmin: await enrolledAs(cluster, "partner-admin", { partnerId, orgAccess: "all" }),
  };
}

/** The sealed audit rows about a record, oldest first, once there are `count` of them. */
export function auditRows(by: Api, orgId: string, resourceId: string, count: number): Promise<AuditRow[]> {
  return until(`${count} audit rows`, async () => {
    const { body } = await by.call("GET", `/audit-logs/logs?orgId=${orgId}&limit=100`);
    const rows = ((body.data ?? []) as AuditRow[]).filter((row) => row.resource.id === resourceId);
    return rows.length >= count ? rows.reverse() : null;
  });
}

/** Names of the fields that a refusal reports. */
export const fieldsOf = (body: Record<string, unknown>) =>
  Object.keys((body.details as { fieldErrors?: object } | undefined)?.fieldErrors ?? {});
