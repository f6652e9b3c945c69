import { useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { organizationOperations } from "../../operations/organizations.tsx";
import { AwayDevices } from "../../parts/away-devices.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { Fleet } from "../../parts/fleet.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { OrganizationLogs } from "../../parts/organization-logs.tsx";
import { OrganizationUpdates } from "../../parts/organization-updates.tsx";
import { OutageNote } from "../../parts/outage-note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { areAllOffline } from "../../rules/connected.ts";
import { OrganizationSites } from "./org-sites.tsx";

/** One organization: a customer with all that is theirs. */
export function OrganizationPage() {
  const id = useRecordId("/orgs/$id");
  const org = useGet("/api/v1/orgs/organizations/{id}", { params: { path: { id } } });
  const { siteIds } = useMe();
  const maySeeDevices = useWhyNot("GET /api/v1/devices/summary") === null;
  const summary = useGet("/api/v1/devices/summary", { params: { query: { orgId: id } } }, { enabled: maySeeDevices });
  if (!org.data) return <RecordState title="Organization" of={org} />;
  const { data } = org;
  const updates = <OrganizationUpdates id={id} />;
  const date = (at: string | null) => (at === null ? null : <Instant at={at} />);
  return (
    <>
      <PageTitle
        title={data.name}
        status={data.status === "active" ? undefined : data.status}
        actions={<HeadOperations of={data} operations={organizationOperations} name={data.name} />}
      />
      <OutageNote of={{ orgId: id }} summary={summary.data} />
      <Sides
        main={
          maySeeDevices ? (
            <>
              <Fleet orgId={id} title="Devices" summary={summary.data} hasHistory={siteIds === null} />
              {summary.data ? <AwayDevices orgId={id} areAllOffline={areAllOffline(summary.data.byStatus)} /> : null}
              {updates}
            </>
          ) : (
            updates
          )
        }
        side={
          <>
            {maySeeDevices ? <OrganizationSites id={id} /> : null}
            <Section title="Facts">
              <Facts
                of={[
                  ["Status", data.status],
                  ["Slug", data.slug],
                  ["Type", data.type],
                  ["Devices at most", data.maxDevices?.toLocaleString() ?? "unlimited"],
                  ["Contract from", date(data.contractStart)],
                  ["Contract until", date(data.contractEnd)],
                  ["Created", <Time key="made" at={data.createdAt} />],
                  ["Id", <LongCode key="id" of={id} what="id" />],
                ]}
              />
            </Section>
          </>
        }
      />
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
      <OrganizationLogs id={id} />
    </>
  );
}
