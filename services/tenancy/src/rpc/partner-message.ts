import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { OrgAccess } from "@muster/kit";
import { type Partner, PartnerSchema } from "@muster/proto/muster/tenancy/v1/partner_pb";
import type { ChangedTenant } from "../emits/record-change.ts";
import type { PartnerRow } from "../store/partners.ts";

/** The partner as a caller with this access may see it: the order names no organization out of their scope. */
export function partnerMessage(row: PartnerRow, access: OrgAccess): Partner {
  const organizationOrder = visibleOrder(row.organization_order, access);
  const settings = organizationOrder.length > 0 ? { ...row.settings, organizationOrder } : row.settings;
  return create(PartnerSchema, {
    id: row.id,
    name: row.name,
    slug: row.slug,
    type: row.type,
    plan: row.plan,
    status: row.status,
    maxOrganizations: row.max_organizations ?? undefined,
    maxDevices: row.max_devices ?? undefined,
    settingsJson: JSON.stringify(settings),
    ssoConfigJson: JSON.stringify(row.sso_config),
    billingEmail: row.billing_email ?? undefined,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    deletedAt: row.deleted_at ? timestampFromDate(row.deleted_at) : undefined,
  });
}

export function changedPartner(row: PartnerRow): ChangedTenant {
  const { id, name, version, status } = row;
  return { kind: "partner", id, name, version, partnerId: id, orgId: null, status, deleted: row.deleted_at !== null };
}

function visibleOrder(order: string[], access: OrgAccess): string[] {
  if (access.mode === "all") return order;
  const inScope = new Set(access.orgIds);
  return order.filter((id) => inScope.has(id));
}
