/**
 * Actions on records that always belong to an organization; `organization.` itself is excluded: a refused creation has
 * no organization yet.
 */
const prefixes: readonly string[] = [
  "api_key.",
  "enrollment_key.",
  "service_principal.",
  "portal_link.",
  "site.",
  "device.",
  "device_group.",
  "agent.",
  "webhook.",
];

/**
 * Whether a row of this action without its organization is meaningless and dropped (docs/behaviour.md#audit-events). A
 * refused change is about its actor: it is in the actor's chain where the organization is not known.
 */
export function needsOrganization({ action, result }: { action: string; result: string }): boolean {
  return result !== "denied" && prefixes.some((prefix) => action.startsWith(prefix));
}
