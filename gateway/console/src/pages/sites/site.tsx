import { useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { siteOperations } from "../../operations/sites.tsx";
import { AwayDevices } from "../../parts/away-devices.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { Fleet } from "../../parts/fleet.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { OutageNote } from "../../parts/outage-note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { areAllOffline } from "../../rules/connected.ts";

/** One site with its devices. */
export function SitePage() {
  const id = useRecordId("/sites/$id");
  const site = useGet("/api/v1/orgs/sites/{id}", { params: { path: { id } } });
  const maySeeDevices = useWhyNot("GET /api/v1/devices/summary") === null;
  const summary = useGet("/api/v1/devices/summary", { params: { query: { siteId: id } } }, { enabled: maySeeDevices });
  if (!site.data) return <RecordState title="Site" of={site} />;
  const { data } = site;
  return (
    <>
      <PageTitle
        title={data.name}
        sub={<NameOf id={data.orgId} />}
        actions={<HeadOperations of={data} operations={siteOperations} name={data.name} />}
      />
      <OutageNote of={{ orgId: data.orgId, siteId: id }} summary={summary.data} />
      <Sides
        main={
          maySeeDevices ? (
            <>
              <Fleet orgId={data.orgId} siteId={id} title="Devices" summary={summary.data} hasHistory={false} />
              {summary.data ? (
                <AwayDevices orgId={data.orgId} siteId={id} areAllOffline={areAllOffline(summary.data.byStatus)} />
              ) : null}
            </>
          ) : null
        }
        side={
          <Section title="Facts">
            <Facts
              of={[
                ["Time zone", data.timezone],
                ["Labels", Object.keys(data.labels).length > 0 ? <LabelList key="labels" of={data.labels} /> : null],
                ["Created", <Time key="made" at={data.createdAt} />],
                ["Changed", <Time key="changed" at={data.updatedAt} />],
                ["Id", <LongCode key="id" of={id} what="id" />],
              ]}
            />
          </Section>
        }
      />
      {(["address", "contact", "settings"] as const)
        .filter((name) => Object.keys(data[name]).length > 0)
        .map((name) => (
          <Section key={name} title={`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`}>
            <Json value={data[name]} label={name} />
          </Section>
        ))}
    </>
  );
}
