import { Link, useNavigate } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useGet } from "../../api/queries.ts";
import { DeleteRecord } from "../../parts/delete-record.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { ChangeOrganization } from "./change-org.tsx";
import { OrganizationUpdates } from "./org-updates.tsx";

type Organization = BodyOf<"/api/v1/orgs/organizations/{id}">;

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
  const params = { path: { id } };
  const org = useGet("/api/v1/orgs/organizations/{id}", { params });
  const devices = useGet("/api/v1/devices", { params: { query: { orgId: id, limit: "1" } } });
  const keys = useGet("/api/v1/api-keys", { params: { query: { orgId: id, status: "active", limit: "1" } } });
  const [asking, ask] = useState<"change" | "delete" | null>(null);
  const navigate = useNavigate();
  if (!org.data) return <RecordState title="Organization" of={org} />;
  const { data } = org;
  const close = () => ask(null);
  const [deviceCount, keyCount] = [devices.data?.pagination.total, keys.data?.pagination.total];
  const search = { orgId: id };
  const date = (at: string | null) => (at === null ? null : <Instant at={at} />);
  return (
    <>
      <PageTitle title={data.name} status={data.status} />
      <Section
        title="Facts"
        action={
          <div>
            <Operation name="PATCH /api/v1/orgs/organizations/{id}" onClick={() => ask("change")}>
              Change …
            </Operation>{" "}
            <Operation name="DELETE /api/v1/orgs/organizations/{id}" onClick={() => ask("delete")}>
              Delete …
            </Operation>
          </div>
        }
      >
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
      <OrganizationQuestions
        data={data}
        asking={asking}
        close={close}
        params={params}
        navigate={navigate}
        deviceCount={deviceCount}
        keyCount={keyCount}
      />
    </>
  );
}

function OrganizationQuestions({
  data,
  asking,
  close,
  params,
  navigate,
  deviceCount,
  keyCount,
}: {
  data: Organization;
  asking: "change" | "delete" | null;
  close(): void;
  params: { path: { id: string } };
  navigate: ReturnType<typeof useNavigate>;
  deviceCount: number | null | undefined;
  keyCount: number | null | undefined;
}) {
  return (
    <>
      {asking === "change" ? <ChangeOrganization of={data} onClose={close} /> : null}
      {asking === "delete" ? (
        <DeleteRecord
          name={data.name}
          remove={() => dataOf(api.DELETE("/api/v1/orgs/organizations/{id}", { params }))}
          forgets={["/api/v1/orgs"]}
          leave={() => navigate({ to: "/orgs" })}
          onClose={close}
        >
          <p>
            {deviceCount ?? "Its"} devices and {keyCount ?? "its"} active keys are refused from then on, and its people
            cannot sign in. Its audit trail stays.
          </p>
        </DeleteRecord>
      ) : null}
    </>
  );
}
