/** The actions that each service may emit: by exact name or by prefix. A row from another service is refused. */
const emitters = new Map<string, readonly string[]>(
  Object.entries({
    identity: [
      "user.",
      "session.",
      "role.",
      "api_key.",
      "enrollment_key.",
      "service_principal.",
      "portal_link.",
      "sso.",
      "directory.",
      "agent.token.",
      "organization.credentials.revoke",
      "partner.credentials.revoke",
    ],
    tenancy: [
      "partner.",
      "organization.",
      "site.",
      "device.",
      "device_group.",
      "saved_view.",
      "agent.source.ip.changed",
    ],
    audit: ["audit.", "data.", "custom."],
    "device-logs": ["agent.eventlogs.submit", "data.access", "organization.log_limits.update"],
    "webhook-dispatcher": ["webhook.", "webhook_event_type.", "event."],
    "agent-release": ["agent_version.", "agent_update.", "device.update."],
    gateway: [],
  }),
);

/** Services that emit rows. */
export const emittingServices: readonly string[] = [...emitters]
  .filter(([, actions]) => actions.length > 0)
  .map(([name]) => name);

/** Records the changes that anybody was refused, of whichever service they are. */
const refusalsFrom = "identity";

/** Whether `service` may emit a row of this action and result. */
export function mayEmit(service: string, { action, result }: { action: string; result: string }): boolean {
  if (service === refusalsFrom && result === "denied") return true;
  return (emitters.get(service) ?? []).some((name) => (name.endsWith(".") ? action.startsWith(name) : action === name));
}
