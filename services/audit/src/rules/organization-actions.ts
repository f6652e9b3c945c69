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
  "webhook_event_type.",
];

/** Of the organization that it names, else of a partner or the platform. */
const ofAnyTenant = "device.bulk_job.";

/**
 * Whether a row of this action without its organization is meaningless and dropped (docs/behaviour.md#audit-events). A
 * refused change is about its actor: it is in the actor's chain where the organization is not known.
 */
export function needsOrganization({ action, result }: { action: string; result: string }): boolean {
  if (result === "denied" || action.startsWith(ofAnyTenant)) return false;
  return prefixes.some((prefix) => action.startsWith(prefix));
}
