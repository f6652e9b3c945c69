import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { to, toRecord } from "../../parts/links.ts";
import { useMe } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { whyNot } from "../../rules/why-not.ts";

/** A site by its name, as a link where it may be seen. */
export function SiteLink({ id }: { id: string }) {
  const mayRead = whyNot(useMe(), "GET /api/v1/orgs/sites/{id}") === null;
  const { data } = useGet("/api/v1/orgs/sites/{id}", { params: { path: { id } } }, { enabled: mayRead });
  if (!data) return <NameOf id={id} />;
  return <Link {...toRecord("/sites/$id", { id }, { orgId: data.orgId })}>{data.name}</Link>;
}

/** The groups of a device by their names. */
export function GroupLinks({ of: { orgId, groupIds } }: { of: ItemOf<"/api/v1/devices"> }) {
  const { data } = useGet("/api/v1/device-groups", { params: { query: { orgId, limit: "100" } } });
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return groupIds.map((groupId, at) => (
    <span key={groupId}>
      {at > 0 ? ", " : ""}
      <Link {...to("/devices", { orgId, groupId })}>{names.get(groupId) ?? groupId.slice(0, 8)}</Link>
    </span>
  ));
}
