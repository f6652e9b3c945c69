import { useGet } from "./queries.ts";

type Scope = "system" | "partner" | "organization";

/** Roles that users of a scope can have: built-in ones, a partner's for all its organizations, and the scope's own. */
export function useAssignableRoles(scope: Scope, orgId: string | null | undefined) {
  const { data } = useGet("/api/v1/roles", { params: { query: { scope, limit: "100" } } });
  return data?.data.filter(({ orgId: owner }) => owner === null || owner === orgId);
}
