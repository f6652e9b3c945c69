import { healthStatuses } from "@muster/kit";
import { z } from "zod";

const text = z.string();
const textOrNull = text.nullable();
const id = z.string().meta({ format: "uuid" });
const time = z.string().meta({ format: "date-time" });
const device = z.object({
  deviceId: id,
  siteId: id.nullable(),
  groupIds: z.array(id),
  hostname: text,
  os: text,
  arch: text,
  libc: z.enum(["gnu", "musl"]).nullable(),
  agentVersion: text,
  watchdogVersion: textOrNull,
  helperVersion: textOrNull,
  status: text,
  lastSeenAt: time.nullable(),
  lastIpAddress: textOrNull,
});
const client = { ipAddress: textOrNull, userAgent: textOrNull };
const user = { userId: id, email: text, name: text };
const health = z.enum(healthStatuses);
const named = z.object({ type: text, id: textOrNull, name: textOrNull });

/** `data` of the events that this platform emits; new fields may come. */
const shapes = {
  "device.enrolled": device,
  "device.online": device,
  "device.offline": device,
  "device.updated": device,
  "device.decommissioned": device,
  "user.login": z.object({ ...user, sessionId: id, mfa: z.boolean(), ...client }),
  "user.logout": z.object({ ...user, sessionId: id, ...client }),
  "session.login": z.object({ sessionId: id, userId: id, mfa: z.boolean(), expiresAt: time, ...client }),
  "session.logout": z.object({ sessionId: id, userId: id, reason: text }),
  "audit.alert_fired": z.object({
    alertId: id,
    name: text,
    template: textOrNull,
    count: z.int(),
    firedAt: time,
    rows: z.array(
      z.object({
        id,
        seq: z.int(),
        timestamp: time,
        action: text,
        result: text,
        actor: named.extend({ email: textOrNull }),
        resource: named,
        ipAddress: textOrNull,
      }),
    ),
  }),
  "webhook.health_changed": z.object({
    webhookId: id,
    name: text,
    url: text,
    status: health,
    previousStatus: health,
    reason: text,
  }),
} as const;

export type EmittedType = keyof typeof shapes;

const schemas = new Map<EmittedType, Record<string, unknown>>();

/** JSON Schema (2020-12) of `data` of an event that this platform emits. */
export function emittedSchema(type: EmittedType): Record<string, unknown> {
  const schema = schemas.get(type) ?? { ...z.toJSONSchema(shapes[type], { io: "input" }) };
  schemas.set(type, schema);
  return schema;
}
