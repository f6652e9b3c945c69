import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useForget, useGet } from "../../api/queries.ts";
import { DeleteRecord } from "../../parts/delete-record.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { to } from "../../parts/links.ts";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { labelChanges, labelsText } from "../../rules/labels.ts";
import { SiteForm } from "./site-form.tsx";

type Site = BodyOf<"/api/v1/orgs/sites/{id}">;

/** One site with its devices. */
export function SitePage() {
  const id = useRecordId("/sites/$id");
  const params = { path: { id } };
  const site = useGet("/api/v1/orgs/sites/{id}", { params });
  const devices = useGet("/api/v1/devices", { params: { query: { siteId: id, limit: "1" } } });
  const [asking, ask] = useState<"change" | "labels" | "delete" | null>(null);
  const forget = useForget();
  const navigate = useNavigate();
  if (!site.data) return <RecordState title="Site" of={site} />;
  const { data } = site;
  const count = devices.data?.pagination.total;
  const close = () => ask(null);
  return (
    <>
      <PageTitle title={data.name} />
      <Section
        title="Facts"
        action={
          <div>
            <Operation name="PATCH /api/v1/orgs/sites/{id}" onClick={() => ask("change")}>
              Change …
            </Operation>{" "}
            <Operation name="PATCH /api/v1/orgs/sites/{id}/labels" onClick={() => ask("labels")}>
              Labels …
            </Operation>{" "}
            <Operation name="DELETE /api/v1/orgs/sites/{id}" onClick={() => ask("delete")}>
              Delete …
            </Operation>
          </div>
        }
      >
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
      <SiteQuestions
        data={data}
        asking={asking}
        close={close}
        params={params}
        forget={forget}
        navigate={navigate}
        count={count}
      />
    </>
  );
}

function SiteQuestions({
  data,
  asking,
  close,
  params,
  forget,
  navigate,
  count,
}: {
  data: Site;
  asking: "change" | "labels" | "delete" | null;
  close(): void;
  params: { path: { id: string } };
  forget: ReturnType<typeof useForget>;
  navigate: ReturnType<typeof useNavigate>;
  count: number | null | undefined;
}) {
  return (
    <>
      {asking === "change" ? <SiteForm site={data} onClose={close} /> : null}
      {asking === "labels" ? (
        <FormDialog
          title={`Labels of ${data.name}`}
          verb="Save"
          running="Saving …"
          onClose={close}
          send={async (form) => {
            const labels = labelChanges(data.labels, String(form.get("labels")));
            await dataOf(api.PATCH("/api/v1/orgs/sites/{id}/labels", { params, body: { labels } }));
            await forget("/api/v1/orgs/sites");
          }}
        >
          {(errorsOf) => (
            <Field label="Labels" hint="One per line: name=value. At most 32." errors={errorsOf("labels")}>
              <textarea name="labels" rows={8} spellCheck={false} defaultValue={labelsText(data.labels)} />
            </Field>
          )}
        </FormDialog>
      ) : null}
      {asking === "delete" ? (
        <DeleteRecord
          name={data.name}
          remove={() => dataOf(api.DELETE("/api/v1/orgs/sites/{id}", { params }))}
          forgets={["/api/v1/orgs/sites", "/api/v1/devices"]}
          leave={() => navigate(to("/sites", { orgId: data.orgId }))}
          onClose={close}
        >
          <p>
            {count ? `Its ${count.toLocaleString()} devices stay, without a site. ` : "No device is there. "}
            People who are limited to this site alone see nothing any more.
          </p>
        </DeleteRecord>
      ) : null}
    </>
  );
}
