/**
 * Most entries of an order. Beyond them organizations stand in registration order, which is where they would be anyway.
 */
export const maxOrderedOrganizations = 5_000;

/**
 * The order to store: wanted ids that exist, each once, then the omitted ones as registered
 * (docs/behaviour.md#partner-settings, PATCH /orgs/organizations/order).
 */
export function organizationOrder(
  wanted: readonly string[],
  existing: readonly string[],
  registered: readonly string[],
): string[] {
  const existingIds = new Set(existing);
  const order = new Set(wanted.filter((id) => existingIds.has(id)));
  for (const id of registered) order.add(id);
  return [...order].slice(0, maxOrderedOrganizations);
}
