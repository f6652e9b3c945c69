import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { CountedDevices } from "../../parts/device-counts.tsx";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { troubleFirst } from "../../parts/owner-columns.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";

const most = 8;

/** An organization's sites, those with the largest share of offline devices first. */
export function OrganizationSites({ id }: { id: string }) {
  const query = { orgId: id, ...troubleFirst, limit: String(most), skipCount: "true" } as const;
  const { data, error, isPending, refetch } = useGet("/api/v1/orgs/sites", { params: { query } });
  return (
    <Section title="Sites" action={<Link {...to("/sites", { orgId: id })}>All sites</Link>}>
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {isPending ? <Loading /> : null}
      {data?.data.length === 0 ? <p className="soft">It has no site yet.</p> : null}
      {data && data.data.length > 0 ? (
        <PlainTable columns={["Site", "Devices"]}>
          {data.data.map((site) => (
            <tr key={site.id}>
              <th scope="row">
                <Link {...toRecord("/sites/$id", { id: site.id }, { orgId: id })}>{site.name}</Link>
              </th>
              <td>
                {site.deviceCounts ? (
                  <CountedDevices of={{ orgId: id, siteId: site.id }} counts={site.deviceCounts} />
                ) : null}
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
