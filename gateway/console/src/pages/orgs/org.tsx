import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { ChangeOrganization } from "./change-org.tsx";

/** One organization: a customer with all that is theirs. */
export function OrganizationPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const params = { path: { id } };
  const org = useGet("/api/v1/orgs/organizations/{id}", { params });
  const devices = useGet("/api/v1/devices", { params: { query: { orgId: id, limit: "1" } } });
  const keys = useGet("/api/v1/api-keys", { params: { query: { orgId: id, status: "active", limit: "1" } } });
  const [asking, ask] = useState<"change" | "delete" | null>(null);
  const forget = useForget();
  const navigate = useNavigate();
  if (!org.data) return <RecordState title="Organization" of={org} />;
  const { data } = org;
  const close = () => ask(null);
  const [deviceCount, keyCount] = [devices.data?.pagination.total, keys.data?.pagination.total];
  const search = { orgId: id } as never;
  const date = (at: string | null) => (at === null ? null : <Instant at={at} />);
  return (
    <>
      <PageTitle
        title={data.name}
        after={
          <small>
            {" "}
            <Status of={data.status} />
          </small>
        }
      />
      <p>
        <Link to="/orgs">All organizations</Link>
      </p>
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
          <Link to="/devices" search={search}>
            Devices
          </Link>{" "}
          ·{" "}
          <Link to="/sites" search={search}>
            Sites
          </Link>{" "}
          ·{" "}
          <Link to="/people" search={search}>
            People
          </Link>{" "}
          ·{" "}
          <Link to="/keys" search={search}>
            Keys
          </Link>{" "}
          ·{" "}
          <Link to="/webhooks" search={search}>
            Webhooks
          </Link>{" "}
          ·{" "}
          <Link to="/audit" search={search}>
            Audit
          </Link>{" "}
          ·{" "}
          <Link to="/settings/sso" search={search}>
            Single sign-on
          </Link>
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
      {asking === "change" ? <ChangeOrganization of={data} onClose={close} /> : null}
      {asking === "delete" ? (
        <Confirm
          title={`Delete ${data.name}?`}
          verb="Delete"
          typed={data.name}
          onClose={close}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/orgs/organizations/{id}", { params }));
            await forget("/api/v1/orgs");
            await navigate({ to: "/orgs" });
          }}
        >
          <p>
            {deviceCount ?? "Its"} devices and {keyCount ?? "its"} active keys are refused from then on, and its people
            cannot sign in. Its audit trail stays.
          </p>
        </Confirm>
      ) : null}
    </>
  );
}
