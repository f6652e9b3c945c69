/** The groups that no row of a mapping names, those with most people first. */
export const unmappedGroups = <G extends { id: string; members: number }>(
  groups: readonly G[],
  rows: readonly { groupId: string | null }[],
): G[] => {
  const mapped = new Set(rows.map(({ groupId }) => groupId));
  return groups.filter(({ id }) => !mapped.has(id)).sort((one, other) => other.members - one.members);
};
