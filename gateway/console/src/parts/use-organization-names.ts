import { useGet } from "../api/queries.ts";
import { whyNot } from "../rules/why-not.ts";
import { useMe } from "./me.tsx";

/** Names of the first hundred organizations by id, where a list shows several; empty for people of one organization. */
export function useOrganizationNames(isWanted: boolean): ReadonlyMap<string, string> {
  const me = useMe();
  const enabled = isWanted && me.scope !== "organization" && whyNot(me, "GET /api/v1/orgs/organizations") === null;
  const { data } = useGet("/api/v1/orgs/organizations", { params: { query: { limit: "100" } } }, { enabled });
  return new Map(data?.data.map(({ id, name }) => [id, name]));
}
