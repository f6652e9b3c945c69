import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { organizationOperations } from "../../operations/organizations.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { OrganizationUpdates } from "./org-updates.tsx";

/** Lists that can be narrowed to an organization. */
const theirs = [
  ["/devices", "Devices"],
  ["/sites", "Sites"],
  ["/people", "People"],
  ["/keys", "Keys"],
  ["/webhooks", "Webhooks"],
  ["/audit", "Audit"],
  ["/settings/sso", "Single sign-on"],
] as const;

/** One organization: a customer with all that is theirs. */
export function OrganizationPage() {
  const id = useRecordId("/orgs/$id");
  const org = useGet("/api/v1/orgs/organizations/{id}", { params: { path: { id } } });
  const devices = useGet("/api/v1/devices", { params: { query: { orgId: id, limit: "1" } } });
  if (!org.data) return <RecordState title="Organization" of={org} />;
  const { data } = org;
  const deviceCount = devices.data?.pagination.total;
  const search = { orgId: id };
  const date = (at: string | null) => (at === null ? null : <Instant at={at} />);
  return (
    <>
      <PageTitle
        title={data.name}
        status={data.status}
        actions={<HeadOperations of={data} operations={organizationOperations} name={data.name} />}
      />
      <Section title="Facts">
        <Facts
          of={[
            ["Slug", data.slug],
            ["Type", data.type],
            ["Devices", deviceCount?.toLocaleString()],
            ["Devices at most", data.maxDevices?.toLocaleString() ?? "unlimited"],
            ["Contract from", date(data.contractStart)],
            ["Contract until", date(data.contractEnd)],
            ["Created", <Time key="made" at={data.createdAt} />],
            ["Id", <code key="id">{id}</code>],
          ]}
        />
        <p>
          {theirs.map(([to, name], at) => (
            <Fragment key={to}>
              {at > 0 ? " · " : null}
              <Link to={to} search={search}>
                {name}
              </Link>
            </Fragment>
          ))}
        </p>
      </Section>
      {(
        [
          ["Settings", data.settings],
          ["Billing contact", data.billingContact],
        ] as const
      )
        .filter(([, value]) => Object.keys(value).length > 0)
        .map(([name, value]) => (
          <Section key={name} title={name}>
            <Json value={value} label={name} />
          </Section>
        ))}
      <OrganizationUpdates id={id} />
    </>
  );
}
