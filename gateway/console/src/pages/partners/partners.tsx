import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { actionsColumn } from "../../operations/operation-buttons.tsx";
import { partnerOperations } from "../../operations/partners.tsx";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { Operation } from "../../parts/operation.tsx";
import { Options } from "../../parts/options.tsx";
import { partnerPlans, partnerTypes } from "../../parts/partner-values.ts";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { slugOf } from "../../rules/slug.ts";

/** Partners: the service providers and companies whose organizations are here. */
export function Partners() {
  const forget = useForget();
  const [isMaking, make] = useState(false);
  const create = (
    <Operation name="POST /api/v1/orgs/partners" isPrimary onClick={() => make(true)}>
      New partner
    </Operation>
  );
  return (
    <>
      <ListPage
        title="Partners"
        section="tenants"
        path="/api/v1/orgs/partners"
        filters={["search"]}
        text={{ name: "search", label: "Name" }}
        actions={create}
        columns={[
          {
            id: "name",
            title: "Name",
            cell: ({ id, name }) => <Link {...toRecord("/partners/$id", { id })}>{name}</Link>,
          },
          { id: "slug", title: "Slug", isMinor: true, cell: ({ slug }) => slug },
          { id: "status", title: "Status", width: "9.5rem", cell: ({ status }) => <Status of={status} /> },
          { id: "type", title: "Type", width: "8rem", isMinor: true, cell: ({ type }) => type },
          { id: "plan", title: "Plan", width: "8rem", isMinor: true, cell: ({ plan }) => plan },
          {
            id: "made",
            title: "Created",
            width: "9rem",
            isMinor: true,
            cell: ({ createdAt }) => <Time at={createdAt} />,
          },
          actionsColumn(partnerOperations, ({ name }) => name),
        ]}
        empty={
          <EmptyState title="No partner yet.">
            <p>A partner is a service provider or a company; organizations belong to it.</p>
            {create}
          </EmptyState>
        }
      />
      <NewPartner isMaking={isMaking} make={make} forget={forget} />
    </>
  );
}

function NewPartner({
  isMaking,
  make,
  forget,
}: {
  isMaking: boolean;
  make(isMaking: boolean): void;
  forget: ReturnType<typeof useForget>;
}) {
  return isMaking ? (
    <FormDialog
      title="New partner"
      verb="Create"
      running="Creating …"
      onClose={() => make(false)}
      send={async (form) => {
        const name = String(form.get("name"));
        const body = {
          name,
          slug: slugOf(name),
          type: String(form.get("type")) as (typeof partnerTypes)[number],
          plan: String(form.get("plan")) as (typeof partnerPlans)[number],
        };
        await dataOf(api.POST("/api/v1/orgs/partners", { body }));
        await forget("/api/v1/orgs");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name") ?? errorsOf("slug")}>
            <input name="name" required maxLength={100} autoComplete="off" />
          </Field>
          <Field label="Type" errors={errorsOf("type")}>
            <select name="type">
              <Options of={partnerTypes} />
            </select>
          </Field>
          <Field label="Plan" errors={errorsOf("plan")}>
            <select name="plan">
              <Options of={partnerPlans} />
            </select>
          </Field>
        </>
      )}
    </FormDialog>
  ) : null;
}
