import type { EventType } from "@muster/kit";
import { exampleId, exampleTime } from "../fields/schemas.ts";
import { type EmittedType, emittedSchema } from "./event-type-schemas.ts";

/** The meaning of an event in one sentence, and its `data`. */
type Description = { description: string; data: Readonly<Record<string, unknown>> };

const device = {
  deviceId: exampleId,
  siteId: exampleId,
  groupIds: [],
  hostname: "web-01",
  os: "linux",
  arch: "amd64",
  libc: "gnu",
  agentVersion: "1.4.2",
  watchdogVersion: null,
  helperVersion: null,
  status: "online",
  lastSeenAt: exampleTime,
  lastIpAddress: "192.0.2.1",
};
const alert = { alertId: exampleId, deviceId: exampleId, name: "Disk full", severity: "critical" };
const script = { scriptId: exampleId, deviceId: exampleId, name: "Clear caches" };
const automation = { automationId: exampleId, name: "Nightly restart" };
const policy = { policyId: exampleId, deviceId: exampleId, name: "Disks are encrypted" };
const patch = { patchId: exampleId, deviceId: exampleId, name: "KB5034441" };
const remote = { remoteSessionId: exampleId, deviceId: exampleId, userId: exampleId };
const user = { userId: exampleId, email: "ada@example.com", name: "Ada" };
const client = { ipAddress: "192.0.2.1", userAgent: "Mozilla/5.0" };

/** Of types that this platform emits itself: `data` has exactly these fields, by event-type-schemas.ts. */
const emitted: Readonly<Record<EmittedType, Description>> = {
  "device.enrolled": {
    description: "An agent has enrolled a device.",
    data: { ...device, lastSeenAt: null, lastIpAddress: null },
  },
  "device.online": { description: "A device that was not online has sent a heartbeat.", data: device },
  "device.offline": {
    description: "A device has missed several heartbeats.",
    data: { ...device, status: "offline" },
  },
  "device.updated": { description: "A device's site, groups, name, agent or settings have changed.", data: device },
  "device.decommissioned": {
    description: "A device was decommissioned: its agent is refused from now on.",
    data: { ...device, status: "decommissioned" },
  },
  "user.login": {
    description: "A user of the organization has signed in.",
    data: { ...user, sessionId: exampleId, mfa: true, ...client },
  },
  "user.logout": {
    description: "A user of the organization has signed out.",
    data: { ...user, sessionId: exampleId, ...client },
  },
  "session.login": {
    description: "A session has started.",
    data: { sessionId: exampleId, userId: exampleId, mfa: true, expiresAt: exampleTime, ...client },
  },
  "session.logout": {
    description: "A session has ended, by its user or otherwise; `reason` holds the cause.",
    data: { sessionId: exampleId, userId: exampleId, reason: "revoked" },
  },
  "audit.alert_fired": {
    description: "Audit rows match an alert; sent only to webhooks that name this type.",
    data: {
      alertId: exampleId,
      name: "New administrators",
      template: "new-administrator",
      count: 1,
      firedAt: exampleTime,
      rows: [
        {
          id: exampleId,
          seq: 42,
          timestamp: exampleTime,
          action: "user.permission.change",
          result: "success",
          actor: { type: "user", id: exampleId, name: "Ada Lovelace", email: "ada@example.com" },
          resource: { type: "user", id: exampleId, name: "Grace Hopper" },
          ipAddress: "192.0.2.1",
        },
      ],
    },
  },
  "webhook.health_changed": {
    description: "The health of another webhook has changed; sent only to webhooks that name this type.",
    data: {
      webhookId: exampleId,
      name: "Tickets",
      url: "https://example.com/hook",
      status: "failing",
      previousStatus: "healthy",
      reason: "5 attempts in a row failed since 2026-01-31T12:00:00.000Z.",
    },
  },
};

/** Types that only `POST /events` emits: `data` is whatever was posted, and this is an example. */
const posted: Readonly<Record<Exclude<EventType, EmittedType>, Description>> = {
  "alert.triggered": { description: "A monitored condition has become true.", data: alert },
  "alert.acknowledged": { description: "A user has acknowledged an alert.", data: { ...alert, userId: exampleId } },
  "alert.resolved": { description: "The cause of an alert has gone.", data: alert },
  "alert.escalated": { description: "An alert that was not acknowledged was escalated.", data: alert },
  "script.started": { description: "A script has started on a device.", data: script },
  "script.completed": { description: "A script has ended well.", data: { ...script, exitCode: 0 } },
  "script.failed": { description: "A script has ended with an error.", data: { ...script, exitCode: 1 } },
  "automation.started": { description: "An automation has started.", data: automation },
  "automation.completed": { description: "All steps of an automation have ended well.", data: automation },
  "automation.failed": { description: "A step of an automation has failed.", data: { ...automation, step: 2 } },
  "policy.evaluated": { description: "A device was compared with a policy.", data: { ...policy, compliant: true } },
  "policy.violation": { description: "A device does not meet a policy.", data: policy },
  "policy.compliant": { description: "A device that did not meet a policy meets it again.", data: policy },
  "patch.available": { description: "A device lacks an available patch.", data: patch },
  "patch.approved": { description: "A user has approved a patch.", data: { ...patch, userId: exampleId } },
  "patch.installed": { description: "A patch was installed on a device.", data: patch },
  "patch.failed": { description: "A patch could not be installed on a device.", data: { ...patch, error: "no space" } },
  "patch.rollback": { description: "A patch was removed from a device.", data: patch },
  "security.score_changed": {
    description: "The security score of a device has changed.",
    data: { deviceId: exampleId, before: 71, after: 84 },
  },
  "remote.session.started": { description: "A user has started to work on a device remotely.", data: remote },
  "remote.session.ended": { description: "Remote work on a device has ended.", data: remote },
};

const isEmitted = (type: EventType): type is EmittedType => Object.hasOwn(emitted, type);

const described: Readonly<Record<EventType, Description>> = { ...emitted, ...posted };

/** An event type with its sentence and a body as a receiver gets it. */
export function eventTypeOf(type: EventType) {
  const { description, data } = described[type];
  return {
    type,
    group: type.slice(0, type.indexOf(".")),
    description,
    source: isEmitted(type) ? ("platform" as const) : ("posted" as const),
    schema: isEmitted(type) ? emittedSchema(type) : null,
    version: null,
    archived: false,
    example: { id: exampleId, type, timestamp: exampleTime, orgId: exampleId, data },
  };
}
