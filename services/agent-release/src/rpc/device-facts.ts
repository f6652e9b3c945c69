import type { DeviceFacts } from "@muster/proto/muster/common/v1/device_pb";
import type { Device } from "../rules/plan.ts";

/** A device in the gate's form. */
export function deviceOf(facts: DeviceFacts): Device {
  return {
    id: facts.id,
    orgId: facts.orgId,
    partnerId: facts.partnerId,
    siteId: facts.siteId || null,
    groupIds: facts.groupIds,
    labels: facts.labels,
    os: facts.os,
    arch: facts.arch,
    libc: facts.libc,
    versions: {
      agent: facts.agentVersion || null,
      watchdog: facts.watchdogVersion || null,
      helper: facts.helperVersion || null,
    },
    autoUpdateEnabled: facts.autoUpdateEnabled,
    status: facts.status,
  };
}
