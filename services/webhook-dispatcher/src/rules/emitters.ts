/**
 * Which service may say that an event of a type happened, by the beginning of its type. NATS lets a service publish
 * under its own name alone, so a key that was stolen forges no more than its service says anyway.
 */
const emitters = new Map<string, readonly string[]>([
  ["identity", ["user.", "session."]],
  ["tenancy", ["device."]],
  // The types of parts of the platform that live elsewhere come through POST /events, whose callers it knows.
  ["webhook-dispatcher", [""]],
]);

/** Whether `service` may emit events of this type for webhooks. */
export function mayEmit(service: string, type: string): boolean {
  return (emitters.get(service) ?? []).some((beginning) => type.startsWith(beginning));
}
