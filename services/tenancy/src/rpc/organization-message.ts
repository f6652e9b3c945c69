import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Organization, OrganizationSchema } from "@muster/proto/muster/tenancy/v1/organization_pb";
import type { ChangedTenant } from "../emits/record-change.ts";
import type { OrganizationRow } from "../store/organizations.ts";
import type { WithCounts } from "../store/owner-devices.ts";
import { deviceCountsField } from "./owner-view.ts";

export function organizationMessage(row: WithCounts<OrganizationRow>): Organization {
  return create(OrganizationSchema, {
    id: row.id,
    partnerId: row.partner_id,
    name: row.name,
    slug: row.slug,
    type: row.type,
    status: row.status,
    maxDevices: row.max_devices ?? undefined,
    settingsJson: JSON.stringify(row.settings),
    ssoConfigJson: JSON.stringify(row.sso_config),
    billingContactJson: JSON.stringify(row.billing_contact),
    contractStart: row.contract_start ? timestampFromDate(row.contract_start) : undefined,
    contractEnd: row.contract_end ? timestampFromDate(row.contract_end) : undefined,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    deletedAt: row.deleted_at ? timestampFromDate(row.deleted_at) : undefined,
    ...deviceCountsField(row.counts),
  });
}

export function changedOrganization(row: OrganizationRow): ChangedTenant {
  const { id, name, version, status, partner_id: partnerId } = row;
  return { kind: "organization", id, name, version, partnerId, orgId: id, status, deleted: row.deleted_at !== null };
}
