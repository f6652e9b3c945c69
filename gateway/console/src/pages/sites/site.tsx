import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { siteOperations } from "../../operations/sites.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { to } from "../../parts/links.ts";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";

/** One site with its devices. */
export function SitePage() {
  const id = useRecordId("/sites/$id");
  const site = useGet("/api/v1/orgs/sites/{id}", { params: { path: { id } } });
  const devices = useGet("/api/v1/devices", { params: { query: { siteId: id, limit: "1" } } });
  if (!site.data) return <RecordState title="Site" of={site} />;
  const { data } = site;
  const count = devices.data?.pagination.total;
  return (
    <>
      <PageTitle
        title={data.name}
        sub={<NameOf id={data.orgId} />}
        actions={<HeadOperations of={data} operations={siteOperations} name={data.name} />}
      />
      <Section title="Facts">
        <Facts
          of={[
            ["Time zone", data.timezone],
            [
              "Devices",
              <Link key="devices" {...to("/devices", { orgId: data.orgId, siteId: id })}>
                {count?.toLocaleString() ?? "See them"}
              </Link>,
            ],
            ["Labels", Object.keys(data.labels).length > 0 ? <LabelList key="labels" of={data.labels} /> : null],
            ["Created", <Time key="made" at={data.createdAt} />],
            ["Changed", <Time key="changed" at={data.updatedAt} />],
            ["Id", <code key="id">{id}</code>],
          ]}
        />
      </Section>
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
