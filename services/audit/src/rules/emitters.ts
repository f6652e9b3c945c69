/** Which service may emit which actions: by exact name or by prefix. A row from anybody else is refused. */
const emitters = new Map<string, readonly string[]>(
  Object.entries({
    identity: [
      "user.",
      "session.",
      "role.",
      "api_key.",
      "enrollment_key.",
      "service_principal.",
      "sso.",
      "agent.token.",
      "organization.credentials.revoke",
      "partner.credentials.revoke",
    ],
    tenancy: ["partner.", "organization.", "site.", "device.", "device_group.", "agent.source.ip.changed"],
    audit: ["audit.", "data."],
    "device-logs": ["agent.eventlogs.submit", "data.access"],
    "webhook-dispatcher": ["webhook.", "event."],
    "agent-release": ["agent_version.", "agent_update.", "device.update."],
    gateway: [],
  }),
);

/** Whether `service` is the one that may say `action` happened. */
export function mayEmit(service: string, action: string): boolean {
  return (emitters.get(service) ?? []).some((name) => (name.endsWith(".") ? action.startsWith(name) : action === name));
}
