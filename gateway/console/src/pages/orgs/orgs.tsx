import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { actionsColumn } from "../../operations/operation-buttons.tsx";
import { organizationOperations } from "../../operations/organizations.tsx";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { slugOf } from "../../rules/slug.ts";

/** The organizations that the user may see. */
export function Organizations() {
  const me = useMe();
  const [isMaking, make] = useState(false);
  const create =
    me.scope === "organization" ? null : (
      <Operation name="POST /api/v1/orgs/organizations" isPrimary onClick={() => make(true)}>
        New organization
      </Operation>
    );
  return (
    <>
      <ListPage
        title="Organizations"
        section="tenants"
        path="/api/v1/orgs/organizations"
        filters={["partnerId", "search"]}
        text={{ name: "search", label: "Name" }}
        labels={{ partnerId: "Partner" }}
        actions={create}
        columns={[
          {
            id: "name",
            title: "Name",
            cell: ({ id, name }) => <Link {...toRecord("/orgs/$id", { id }, { orgId: id })}>{name}</Link>,
          },
          { id: "slug", title: "Slug", isMinor: true, cell: ({ slug }) => slug },
          { id: "status", title: "Status", width: "9.5rem", cell: ({ status }) => <Status of={status} /> },
          { id: "type", title: "Type", width: "7rem", isMinor: true, cell: ({ type }) => type },
          {
            id: "cap",
            title: "Devices at most",
            width: "10rem",
            isMinor: true,
            cell: ({ maxDevices }) => maxDevices?.toLocaleString() ?? "unlimited",
          },
          { id: "made", title: "Created", width: "9rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
          actionsColumn(organizationOperations, ({ name }) => name),
        ]}
        empty={
          <EmptyState title="No organization yet.">
            <p>
              An organization is a customer: its devices, people, keys and audit trail are separate from all others'.
            </p>
            {create}
          </EmptyState>
        }
      />
      {isMaking ? <NewOrganization onClose={() => make(false)} /> : null}
    </>
  );
}

function NewOrganization({ onClose }: { onClose(): void }) {
  const me = useMe();
  const forget = useForget();
  const isSystem = me.scope === "system";
  const partners = useGet("/api/v1/orgs/partners", { params: { query: { limit: "100" } } }, { enabled: isSystem });
  return (
    <FormDialog
      title="New organization"
      verb="Create"
      running="Creating …"
      isDisabled={isSystem && !partners.data}
      onClose={onClose}
      send={async (form) => {
        const name = String(form.get("name"));
        const partnerId = form.get("partnerId");
        const body = { name, slug: slugOf(name), ...(partnerId ? { partnerId: String(partnerId) } : {}) };
        await dataOf(api.POST("/api/v1/orgs/organizations", { body }));
        await forget("/api/v1/orgs");
      }}
    >
      {(errorsOf) => (
        <>
          {isSystem ? (
            <Field label="Partner" errors={errorsOf("partnerId")}>
              <select name="partnerId" required>
                <NamedOptions of={partners.data?.data ?? []} />
              </select>
            </Field>
          ) : null}
          <Field label="Name" errors={errorsOf("name") ?? errorsOf("slug")}>
            <input name="name" required maxLength={100} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}
