import type { Tx } from "@muster/db";
import type { CallContext, EventType } from "@muster/kit";
import { DeviceChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { encode } from "@muster/rpc";
import { auditEvent, platformEvent } from "@muster/service";
import type { DeviceGroupRow } from "../store/device-groups.ts";
import type { DeviceRow } from "../store/devices.ts";

/** The webhook event of each change, except changes of presence. */
const platformTypes = {
  created: "device.enrolled",
  updated: "device.updated",
  decommissioned: "device.decommissioned",
} as const;

/**
 * Emits `tenancy.device.<change>` with the row after it, and the event of the platform unless `type` is null, in the
 * transaction that makes the change.
 */
export function emitDevice(
  tx: Tx,
  context: Pick<CallContext, "meta">,
  change: "created" | "updated" | "decommissioned",
  row: DeviceRow,
  type: EventType | null = platformTypes[change],
): void {
  const body = encode(DeviceChangedSchema, {
    id: row.id,
    version: BigInt(row.version),
    partnerId: row.partner_id,
    orgId: row.org_id,
    siteId: row.site_id ?? "",
    status: row.status,
    groupIds: row.group_ids,
    hostname: row.hostname,
  });
  tx.emit({
    subject: `tenancy.device.${change}`,
    msgId: `${row.org_id}/device-${row.id}-${row.version}`,
    body,
    traceparent: context.meta.traceparent,
  });
  if (type === null) return;
  const fact = { type, orgId: row.org_id, partnerId: row.partner_id, data: eventData(row) };
  tx.emit(platformEvent("tenancy", fact, context.meta.traceparent));
}

/** The device as webhooks are shown it. */
function eventData(row: DeviceRow): Record<string, unknown> {
  return {
    deviceId: row.id,
    siteId: row.site_id,
    groupIds: row.group_ids,
    hostname: row.hostname,
    os: row.os,
    arch: row.arch,
    libc: row.libc,
    agentVersion: row.agent_version,
    watchdogVersion: row.watchdog_version,
    helperVersion: row.helper_version,
    status: row.status,
    lastSeenAt: row.last_seen_at?.toISOString() ?? null,
    lastIpAddress: row.last_ip_address,
  };
}

/** Whoever changes a device: by itself, or as one of the devices of a bulk job, which the audit row names. */
export type DeviceContext = CallContext & { bulkJobId?: string };

/** Emits the one audit row of a change of a device or a device group. */
export function auditDevice(
  tx: Tx,
  context: Pick<DeviceContext, "caller" | "meta" | "bulkJobId">,
  fact: {
    action: string;
    row: DeviceRow | DeviceGroupRow;
    details: Record<string, unknown>;
    /** Devices that the row is about besides. */
    devices?: readonly DeviceRow[];
  },
  at: Date,
): void {
  const { action, row, devices } = fact;
  const { bulkJobId } = context;
  const details = { ...fact.details, ...(bulkJobId === undefined ? {} : { bulkJobId }) };
  const targets = devices?.map(({ id, hostname }) => ({ type: "device", id, name: hostname }));
  const resource =
    "hostname" in row
      ? { type: "device", id: row.id, name: row.hostname }
      : { type: "device_group", id: row.id, name: row.name };
  tx.emit(
    auditEvent(
      "tenancy",
      context,
      { action, resource, orgId: row.org_id, partnerId: row.partner_id, details, ...(targets ? { targets } : {}) },
      at,
    ),
  );
}
