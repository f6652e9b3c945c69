/** What had a user's role evaluated. */
export type Cause = "user" | "group" | "mapping" | "sign_in";

/** A row of a directory's role mapping, with what it takes to use it. */
export type MappingRule = {
  id: string;
  groupId: string | null;
  claim: string | null;
  roleId: string;
  /** Null: all sites. */
  siteIds: readonly string[] | null;
  /** Its author may still grant the role. */
  isGranted: boolean;
};

/** What a user gets, and the rule that decided; `rule` is null for the default role. */
export type MappedRole = { roleId: string; siteIds: readonly string[] | null; ruleId: string | null };

/**
 * The role of a user: that of the first row, in the tenant's order, whose group or claim the user has; its sites are
 * those of all matching rows of the same role. Without a match the default role; null where there is none: no access.
 * Rows whose author may not grant their role any more count as absent.
 */
export function mappedRole(
  rules: readonly MappingRule[],
  user: { groupIds: readonly string[]; claims: readonly string[] },
  defaultRoleId: string | null,
): MappedRole | null {
  const matching = rules.filter(
    ({ isGranted, groupId, claim }) =>
      isGranted && (groupId === null ? user.claims.includes(claim ?? "") : user.groupIds.includes(groupId)),
  );
  const [first] = matching;
  if (!first) return defaultRoleId === null ? null : { roleId: defaultRoleId, siteIds: null, ruleId: null };
  const same = matching.filter(({ roleId }) => roleId === first.roleId);
  const siteIds = same.some((rule) => rule.siteIds === null)
    ? null
    : [...new Set(same.flatMap((r) => r.siteIds ?? []))];
  return { roleId: first.roleId, siteIds, ruleId: first.id };
}
