import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useForget, useGet } from "../../api/queries.ts";
import { DeleteRecord } from "../../parts/delete-record.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { to } from "../../parts/links.ts";
import { Operation } from "../../parts/operation.tsx";
import { Options } from "../../parts/options.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { capOf } from "../../rules/form-values.ts";
import { partnerPlans, partnerStatuses, partnerTypes } from "./partner-values.ts";

type Partner = BodyOf<"/api/v1/orgs/partners/{id}">;

/** One partner, as the platform's administrators see it. */
export function PartnerPage() {
  const id = useRecordId("/partners/$id");
  const params = { path: { id } };
  const partner = useGet("/api/v1/orgs/partners/{id}", { params });
  const organizations = useGet("/api/v1/orgs/organizations", { params: { query: { partnerId: id, limit: "1" } } });
  const [asking, ask] = useState<"change" | "delete" | null>(null);
  const forget = useForget();
  const navigate = useNavigate();
  if (!partner.data) return <RecordState title="Partner" of={partner} />;
  const { data } = partner;
  const count = organizations.data?.pagination.total;
  const close = () => ask(null);
  const cap = (most: number | null) => most?.toLocaleString() ?? "unlimited";
  return (
    <>
      <PageTitle title={data.name} status={data.status} />
      <PartnerFacts data={data} ask={ask} cap={cap} count={count} id={id} />
      {Object.keys(data.settings).length > 0 ? (
        <Section title="Settings">
          <Json value={data.settings} label="Settings of the partner" />
        </Section>
      ) : null}
      <PartnerQuestions
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

function PartnerFacts({
  data,
  ask,
  cap,
  count,
  id,
}: {
  data: Partner;
  ask(what: "change" | "delete" | null): void;
  cap(most: number | null): string;
  count: number | null | undefined;
  id: string;
}) {
  return (
    <Section
      title="Facts"
      action={
        <div>
          <Operation name="PATCH /api/v1/orgs/partners/{id}" onClick={() => ask("change")}>
            Change …
          </Operation>{" "}
          <Operation name="DELETE /api/v1/orgs/partners/{id}" onClick={() => ask("delete")}>
            Delete …
          </Operation>
        </div>
      }
    >
      <Facts
        of={[
          ["Slug", data.slug],
          ["Type", data.type],
          ["Plan", data.plan],
          [
            "Organizations",
            <Link key="orgs" {...to("/orgs", { partnerId: id })}>
              {count?.toLocaleString() ?? "See them"}
            </Link>,
          ],
          ["Organizations at most", cap(data.maxOrganizations)],
          ["Devices at most", cap(data.maxDevices)],
          ["Billing e-mail", data.billingEmail],
          ["Created", <Time key="made" at={data.createdAt} />],
          ["Id", <code key="id">{id}</code>],
        ]}
      />
    </Section>
  );
}

function PartnerQuestions({
  data,
  asking,
  close,
  params,
  forget,
  navigate,
  count,
}: {
  data: Partner;
  asking: "change" | "delete" | null;
  close(): void;
  params: { path: { id: string } };
  forget: ReturnType<typeof useForget>;
  navigate: ReturnType<typeof useNavigate>;
  count: number | null | undefined;
}) {
  return (
    <>
      <ChangePartner data={data} asking={asking} close={close} params={params} forget={forget} />
      {asking === "delete" ? (
        <DeleteRecord
          name={data.name}
          remove={() => dataOf(api.DELETE("/api/v1/orgs/partners/{id}", { params }))}
          forgets={["/api/v1/orgs"]}
          leave={() => navigate({ to: "/partners" })}
          onClose={close}
        >
          <p>
            It goes with {count ?? "all of its"} organizations: their devices and keys are refused, their people cannot
            sign in. Audit trails stay.
          </p>
        </DeleteRecord>
      ) : null}
    </>
  );
}

function ChangePartner({
  data,
  asking,
  close,
  params,
  forget,
}: {
  data: Partner;
  asking: "change" | "delete" | null;
  close(): void;
  params: { path: { id: string } };
  forget: ReturnType<typeof useForget>;
}) {
  return asking === "change" ? (
    <FormDialog
      title={`Change ${data.name}`}
      verb="Save"
      running="Saving …"
      onClose={close}
      send={async (form) => {
        const body = {
          name: String(form.get("name")),
          slug: String(form.get("slug")),
          type: String(form.get("type")) as typeof data.type,
          plan: String(form.get("plan")) as typeof data.plan,
          status: String(form.get("status")) as typeof data.status,
          maxOrganizations: capOf(form.get("maxOrganizations")),
          maxDevices: capOf(form.get("maxDevices")),
          billingEmail: String(form.get("billingEmail")) || null,
        };
        await dataOf(api.PATCH("/api/v1/orgs/partners/{id}", { params, body }));
        await forget("/api/v1/orgs");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={data.name} autoComplete="off" />
          </Field>
          <Field label="Slug" hint="In addresses; unique among partners." errors={errorsOf("slug")}>
            <input name="slug" required maxLength={100} defaultValue={data.slug} spellCheck={false} />
          </Field>
          <Field
            label="Status"
            hint="Suspended: people and keys of all its organizations are refused. Churned: devices are refused, too."
            errors={errorsOf("status")}
          >
            <select name="status" defaultValue={data.status}>
              <Options of={partnerStatuses} />
            </select>
          </Field>
          <Field label="Type" errors={errorsOf("type")}>
            <select name="type" defaultValue={data.type}>
              <Options of={partnerTypes} />
            </select>
          </Field>
          <Field label="Plan" errors={errorsOf("plan")}>
            <select name="plan" defaultValue={data.plan}>
              <Options of={partnerPlans} />
            </select>
          </Field>
          <Field label="Organizations at most" hint="Empty: unlimited." errors={errorsOf("maxOrganizations")}>
            <input name="maxOrganizations" type="number" min={0} defaultValue={data.maxOrganizations ?? ""} />
          </Field>
          <Field label="Devices at most" hint="Empty: unlimited." errors={errorsOf("maxDevices")}>
            <input name="maxDevices" type="number" min={0} defaultValue={data.maxDevices ?? ""} />
          </Field>
          <Field label="Billing e-mail" errors={errorsOf("billingEmail")}>
            <input name="billingEmail" type="email" maxLength={255} defaultValue={data.billingEmail ?? ""} />
          </Field>
        </>
      )}
    </FormDialog>
  ) : null;
}
