import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { to, toRecord } from "../../parts/links.ts";
import { troubleFirst } from "../../parts/owner-columns.tsx";
import { OwnerTable, shownOwners } from "../../parts/owner-table.tsx";

/** An organization's sites, those with the largest share of offline devices first. */
export function OrganizationSites({ id }: { id: string }) {
  const query = { orgId: id, ...troubleFirst, limit: String(shownOwners), skipCount: "true" } as const;
  const sites = useGet("/api/v1/orgs/sites", { params: { query } });
  return (
    <OwnerTable
      title="Sites"
      noun="Site"
      action={<Link {...to("/sites", { orgId: id })}>All sites</Link>}
      empty="It has no site yet."
      of={sites}
      nameOf={(site) => <Link {...toRecord("/sites/$id", { id: site.id }, { orgId: id })}>{site.name}</Link>}
      ownerOf={(site) => ({ orgId: id, siteId: site.id })}
    />
  );
}
