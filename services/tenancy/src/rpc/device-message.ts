import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Device,
  type DeviceGroup,
  DeviceGroupSchema,
  DeviceSchema,
} from "@muster/proto/muster/tenancy/v1/device_pb";
import type { DeviceGroupRow } from "../store/device-groups.ts";
import type { DeviceRow } from "../store/devices.ts";

/** The device as the caller it was read for sees it. */
export function deviceMessage(row: DeviceRow): Device {
  return create(DeviceSchema, {
    id: row.id,
    orgId: row.org_id,
    partnerId: row.partner_id,
    siteId: row.site_id ?? "",
    groupIds: row.seen_group_ids,
    hostname: row.hostname,
    os: row.os,
    arch: row.arch,
    libc: row.libc ?? "",
    agentVersion: row.agent_version,
    watchdogVersion: row.watchdog_version ?? "",
    helperVersion: row.helper_version ?? "",
    status: row.status,
    updateState: row.update_state ?? "",
    lastSeenAt: row.last_seen_at ? timestampFromDate(row.last_seen_at) : undefined,
    lastIpAddress: row.last_ip_address ?? "",
    autoUpdateEnabled: row.auto_update_enabled,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    hardwareId: row.hardware_id ?? "",
    serialNumber: row.serial_number ?? "",
    labels: row.labels,
    quarantineReason: row.quarantine_reason ?? "",
    enrollmentKeyId: row.enrollment_key_id ?? "",
    reportedJson: row.reported ? JSON.stringify(row.reported) : "",
  });
}

export function deviceGroupMessage(row: DeviceGroupRow): DeviceGroup {
  return create(DeviceGroupSchema, {
    id: row.id,
    orgId: row.org_id,
    siteId: row.site_id ?? "",
    name: row.name,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}
