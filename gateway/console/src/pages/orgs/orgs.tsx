import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { useMe } from "../../api/me.tsx";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Dialog } from "../../parts/dialog.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { FormActions } from "../../parts/form-actions.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { Operation } from "../../parts/operation.tsx";
import { EmptyState, FailureState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { slugOf } from "../../rules/slug.ts";

/** The organizations that the person may see. */
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
        path="/api/v1/orgs/organizations"
        filters={["partnerId"]}
        labels={{ partnerId: "Partner" }}
        actions={create}
        columns={[
          {
            id: "name",
            title: "Name",
            cell: ({ id, name }) => (
              <Link to="/devices" search={{ orgId: id } as never}>
                {name}
              </Link>
            ),
          },
          { id: "slug", title: "Slug", isMinor: true, cell: ({ slug }) => slug },
          { id: "status", title: "Status", width: "8rem", cell: ({ status }) => <Status of={status} /> },
          { id: "type", title: "Type", width: "7rem", isMinor: true, cell: ({ type }) => type },
          {
            id: "cap",
            title: "Devices at most",
            width: "9rem",
            isMinor: true,
            cell: ({ maxDevices }) => maxDevices?.toLocaleString() ?? "unlimited",
          },
          { id: "made", title: "Created", width: "9rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
        empty={
          <EmptyState title="No organization yet.">
            <p>
              An organization is a customer: its devices, people, keys and audit trail stand apart from all others'.
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
  const write = useWrite();
  const forget = useForget();
  const isSystem = me.scope === "system";
  const partners = useGet("/api/v1/orgs/partners", { params: { query: { limit: "100" } } }, { enabled: isSystem });

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get("name"));
    const partnerId = form.get("partnerId");
    const body = { name, slug: slugOf(name), ...(partnerId ? { partnerId: String(partnerId) } : {}) };
    const made = await write.run(() => dataOf(api.POST("/api/v1/orgs/organizations", { body })));
    if (made === null) return;
    await forget("/api/v1/orgs");
    onClose();
  }

  return (
    <Dialog title="New organization" onClose={onClose}>
      <form className={forms.form} onSubmit={send}>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        {isSystem ? (
          <Field label="Partner" faults={write.faultsOf("partnerId")}>
            <select name="partnerId" required>
              {(partners.data?.data ?? []).map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </Field>
        ) : null}
        <Field label="Name" faults={write.faultsOf("name") ?? write.faultsOf("slug")}>
          <input name="name" required maxLength={100} />
        </Field>
        <FormActions onCancel={onClose} isRunning={write.isRunning} running="Creating …">
          Create
        </FormActions>
      </form>
    </Dialog>
  );
}
