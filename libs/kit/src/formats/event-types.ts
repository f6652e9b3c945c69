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
export const isNamedOnly = (type: string): boolean => (namedOnly as readonly string[]).includes(type);

/** Types that callers of the API may post. */
export const postedEventTypes: readonly EventType[] = eventTypes.filter((type) => !isNamedOnly(type));

export function isEventType(value: string): value is EventType {
  return (eventTypes as readonly string[]).includes(value);
}
