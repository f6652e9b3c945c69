import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Field } from "../../parts/field.tsx";
import { ChooseFirst, FormDialog } from "../../parts/form-dialog.tsx";
import { to } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { RowAction } from "../../parts/row-action.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

type Group = ItemOf<"/api/v1/device-groups">;
type Asking = { kind: "new" } | { kind: "change" | "delete"; group: Group } | null;

/** Device groups: devices under one name, at any sites. */
export function Groups() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const mayChange = useWhyNot("PATCH /api/v1/device-groups/{id}") === null;
  const mayDelete = useWhyNot("DELETE /api/v1/device-groups/{id}") === null;
  const forget = useForget();
  const [asking, ask] = useState<Asking>(null);
  const close = () => ask(null);
  const create = (
    <Operation name="POST /api/v1/device-groups" isPrimary onClick={() => ask({ kind: "new" })}>
      New group
    </Operation>
  );
  return (
    <>
      <ListPage
        title="Device groups"
        section="devices"
        path="/api/v1/device-groups"
        filters={["orgId", "siteId", "search"]}
        text={{ name: "search", label: "Name" }}
        labels={{ siteId: "Site" }}
        actions={create}
        columns={[
          {
            id: "name",
            title: "Name",
            cell: ({ id, name, orgId: owner }) => (
              <Link {...to("/devices", { orgId: owner, groupId: id })}>{name}</Link>
            ),
          },
          {
            id: "scope",
            title: "Devices of",
            width: "14rem",
            isMinor: true,
            cell: ({ siteId }) => (siteId === null ? "the organization" : "one site"),
          },
          { id: "made", title: "Created", width: "9rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            id: "actions",
            title: "Actions",
            width: "10rem",
            cell: (group) => (
              <>
                {mayChange ? (
                  <RowAction of={group.name} onClick={() => ask({ kind: "change", group })}>
                    Change
                  </RowAction>
                ) : null}{" "}
                {mayDelete ? (
                  <RowAction of={group.name} onClick={() => ask({ kind: "delete", group })}>
                    Delete
                  </RowAction>
                ) : null}
              </>
            ),
          },
        ]}
        empty={
          <EmptyState title="No device group yet.">
            <p>A group holds devices under one name, to filter lists and to roll a version out to them first.</p>
            {create}
          </EmptyState>
        }
      />
      <GroupQuestions asking={asking} close={close} chosenOrgId={chosenOrgId} forget={forget} />
    </>
  );
}

function GroupQuestions({
  asking,
  close,
  chosenOrgId,
  forget,
}: {
  asking: Asking;
  close(): void;
  chosenOrgId: string | undefined;
  forget: ReturnType<typeof useForget>;
}) {
  return (
    <>
      {asking?.kind === "new" ? (
        chosenOrgId ? (
          <GroupForm orgId={chosenOrgId} onClose={close} />
        ) : (
          <ChooseFirst title="New group" what="A group" onClose={close} />
        )
      ) : null}
      {asking?.kind === "change" ? <GroupForm orgId={asking.group.orgId} group={asking.group} onClose={close} /> : null}
      {asking?.kind === "delete" ? (
        <Confirm
          title={`Delete ${asking.group.name}?`}
          verb="Delete"
          onClose={close}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/device-groups/{id}", { params: { path: { id: asking.group.id } } }));
            await forget("/api/v1/device-groups", "/api/v1/devices");
          }}
        >
          <p>Its devices stay; only the group is removed.</p>
        </Confirm>
      ) : null}
    </>
  );
}

function GroupForm({ orgId, group, onClose }: { orgId: string; group?: Group; onClose(): void }) {
  const forget = useForget();
  const sites = useGet("/api/v1/orgs/sites", { params: { query: { orgId, limit: "100" } } });
  return (
    <FormDialog
      title={group ? `Change ${group.name}` : "New group"}
      verb={group ? "Save" : "Create"}
      running={group ? "Saving …" : "Creating …"}
      isDisabled={sites.isPending}
      onClose={onClose}
      send={async (form) => {
        const body = { name: String(form.get("name")), siteId: String(form.get("siteId")) || null };
        await (group
          ? dataOf(api.PATCH("/api/v1/device-groups/{id}", { params: { path: { id: group.id } }, body }))
          : dataOf(api.POST("/api/v1/device-groups", { body: { ...body, orgId } })));
        await forget("/api/v1/device-groups");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={group?.name} autoComplete="off" />
          </Field>
          {sites.data ? (
            <Field
              label="Site"
              hint="People who are limited to a site see only its groups."
              errors={errorsOf("siteId")}
            >
              <select name="siteId" defaultValue={group?.siteId ?? ""}>
                <option value="">any of the organization</option>
                <NamedOptions of={sites.data.data} />
              </select>
            </Field>
          ) : null}
        </>
      )}
    </FormDialog>
  );
}
