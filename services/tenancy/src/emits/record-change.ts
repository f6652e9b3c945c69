import type { Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { TenantChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { encode } from "@muster/rpc";
import { auditEvent } from "@muster/service";

/** A row after its change, as events and audit rows name it. */
export type ChangedTenant = {
  kind: "partner" | "organization" | "site";
  id: string;
  name: string;
  version: number;
  partnerId: string;
  /** Null for partners. */
  orgId: string | null;
  /** Null for sites. */
  status: string | null;
  deleted: boolean;
};

export type TenantChange = {
  tenant: ChangedTenant;
  /**
   * `purged` instructs services to delete the data of a tenant that was deleted long ago; the tenant's row stays
   * unchanged.
   */
  change: "created" | "updated" | "deleted" | "purged";
  /** Action of the audit row (docs/behaviour.md#audit-events) and its details. */
  action: string;
  details: Record<string, unknown>;
};

/** Emits the event and the one audit row of a change, in the transaction that makes it. */
export function recordChange(
  tx: Tx,
  context: CallContext,
  { tenant, change, action, details }: TenantChange,
  at: Date,
) {
  const { kind, id, name, version, partnerId, orgId, status, deleted } = tenant;
  const body = encode(TenantChangedSchema, {
    kind,
    id,
    version: BigInt(version),
    partnerId,
    orgId: orgId ?? "",
    status: status ?? "",
    deleted,
  });
  tx.emit({
    subject: `tenancy.${kind}.${change}`,
    msgId: `${orgId ?? partnerId}/${kind}-${id}-${version}${change === "purged" ? "-purged" : ""}`,
    body,
    traceparent: context.meta.traceparent,
  });
  tx.emit(
    auditEvent("tenancy", context, { action, resource: { type: kind, id, name }, orgId, partnerId, details }, at),
  );
}
