/**
 * The services that may emit events, with the beginnings of their types. NATS lets a service publish under its own name
 * alone, so a stolen key forges no event but those of its service.
 */
const emitters = new Map<string, readonly string[]>([
  ["identity", ["user.", "session."]],
  ["tenancy", ["device."]],
  ["audit", ["audit."]],
  // Other programs emit through POST /events, which authenticates its callers.
  ["webhook-dispatcher", [""]],
]);

/** Whether `service` may emit events of this type for webhooks. */
export function mayEmit(service: string, type: string): boolean {
  return (emitters.get(service) ?? []).some((beginning) => type.startsWith(beginning));
}
