/** Actions on what always belongs to an organization; `organization.` itself is left out: a refused creation has none yet. */
const prefixes: readonly string[] = [
  "api_key.",
  "enrollment_key.",
  "service_principal.",
  "site.",
  "device.",
  "device_group.",
  "agent.",
  "webhook.",
];

/** Whether a row of this action without its organization says nothing to anybody and is dropped (docs/behaviour.md#audit-events). */
export function needsOrganization(action: string): boolean {
  return prefixes.some((prefix) => action.startsWith(prefix));
}
