/**
 * Every event type that a webhook can subscribe to (docs/behaviour.md#event-types); `webhook.test` is sent by the test
 * endpoint alone.
 */
export const eventTypes = [
  "device.enrolled",
  "device.online",
  "device.offline",
  "device.updated",
  "device.decommissioned",
  "alert.triggered",
  "alert.acknowledged",
  "alert.resolved",
  "alert.escalated",
  "script.started",
  "script.completed",
  "script.failed",
  "automation.started",
  "automation.completed",
  "automation.failed",
  "policy.evaluated",
  "policy.violation",
  "policy.compliant",
  "patch.available",
  "patch.approved",
  "patch.installed",
  "patch.failed",
  "patch.rollback",
  "security.score_changed",
  "remote.session.started",
  "remote.session.ended",
  "user.login",
  "user.logout",
  "session.login",
  "session.logout",
  "webhook.health_changed",
  "audit.alert_fired",
] as const;

export type EventType = (typeof eventTypes)[number];

/** Type of the delivery that only the test endpoint of a webhook makes. */
export const testEventType = "webhook.test";

/** Emitted by the platform alone, and only for webhooks that name it. */
export const healthChangedType = "webhook.health_changed" satisfies EventType;

/** As healthChangedType: what it tells is for who may read audit rows. */
export const alertFiredType = "audit.alert_fired" satisfies EventType;

const namedOnly: readonly EventType[] = [healthChangedType, alertFiredType];

/** Whether only webhooks that name the type get it, and `*` does not mean it. */
export const isNamedOnly = (type: string): boolean => namedOnly.some((each) => each === type);

/** Types that callers of the API may post. */
export const postedEventTypes: readonly EventType[] = eventTypes.filter((type) => !isNamedOnly(type));

export function isEventType(value: string): value is EventType {
  return eventTypes.some((each) => each === value);
}

/** Own types of organizations, besides the catalogue: `custom.` and segments of lower-case letters, digits and `_`. */
export const customEventType = /^custom(?:\.[a-z0-9_]+)+$/;
export const customEventTypeMax = 100;

export type CustomEventType = `custom.${string}`;

export const isCustomEventType = (value: string): value is CustomEventType =>
  value.length <= customEventTypeMax && customEventType.test(value);

/** A pattern such as `device.*`: all types with that beginning, of which the catalogue has one, or own types. */
export function isEventPattern(value: string): boolean {
  if (!value.endsWith(".*") || value.length > customEventTypeMax) return false;
  const beginning = value.slice(0, -1);
  return (
    beginning === "custom." ||
    isCustomEventType(value.slice(0, -2)) ||
    eventTypes.some((type) => type.startsWith(beginning))
  );
}
