import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { useAssignableRoles } from "../api/use-assignable-roles.ts";
import forms from "../parts/field.module.css";
import { Field } from "../parts/field.tsx";
import { type ErrorsOf, FormDialog } from "../parts/form-dialog.tsx";
import { useMe } from "../parts/me.tsx";
import { NamedOptions } from "../parts/options.tsx";
import { useOrganizationNames } from "../parts/use-organization-names.ts";
import { whyNot } from "../rules/why-not.ts";
import type { FormProps } from "./record-operation.ts";

type User = ItemOf<"/api/v1/users">;
type Names = ReadonlyMap<string, string>;

/** Names of the organizations and sites that a user's account is limited to. */
export function useScopeNames(user: User): { organizations: Names; sites: Names } {
  const me = useMe();
  const organizations = useOrganizationNames(user.scope !== "organization" || user.orgId !== me.orgId);
  const mayReadSites = whyNot(me, "GET /api/v1/orgs/sites") === null;
  const sites = useGet(
    "/api/v1/orgs/sites",
    { params: { query: { ...(user.orgId ? { orgId: user.orgId } : {}), limit: "100" } } },
    { enabled: mayReadSites },
  );
  const siteNames = new Map(sites.data?.data.map(({ id, name }) => [id, name]));
  return { organizations, sites: siteNames };
}

export const orgAccesses = {
  all: "all organizations of the partner",
  selected: "some organizations",
  none: "no organization",
};

/** Changes role, organizations and sites of a user. */
export function ChangeUser({ of: user, onClose, onDone }: FormProps<User>) {
  const { organizations, sites } = useScopeNames(user);
  const { scope } = user;
  const roles = useAssignableRoles(scope, user.orgId);
  const [access, setAccess] = useState(user.orgAccess ?? "all");
  const [isLimited, limit] = useState(user.siteIds !== null);
  return (
    <FormDialog
      title={`Change ${user.name}`}
      verb="Save"
      running="Saving …"
      isDisabled={!roles}
      onClose={onClose}
      send={async (form) => {
        const siteIds = form.getAll("siteIds").map(String);
        const body = {
          name: String(form.get("name")),
          roleId: String(form.get("roleId")),
          ...(scope === "partner" ? { orgAccess: access } : {}),
          ...(scope === "partner" && access === "selected" ? { orgIds: form.getAll("orgIds").map(String) } : {}),
          ...(scope === "system" ? {} : { siteIds: isLimited ? siteIds : null }),
        };
        await dataOf(api.PATCH("/api/v1/users/{id}", { params: { path: { id: user.id } }, body }));
        await onDone("Saved; in force at once, everywhere.");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={user.name} autoComplete="off" />
          </Field>
          {roles ? (
            <Field label="Role" errors={errorsOf("roleId")}>
              <select name="roleId" required defaultValue={user.roleId}>
                <NamedOptions of={roles} />
              </select>
            </Field>
          ) : null}
          {scope === "partner" ? (
            <>
              <Field label="Organization access" errors={errorsOf("orgAccess")}>
                <select value={access} onChange={(event) => setAccess(event.target.value as typeof access)}>
                  {Object.entries(orgAccesses).map(([value, words]) => (
                    <option key={value} value={value}>
                      {words}
                    </option>
                  ))}
                </select>
              </Field>
              {access === "selected" ? (
                <Boxes
                  legend="Organizations"
                  name="orgIds"
                  of={organizations}
                  chosen={user.orgIds}
                  errorsOf={errorsOf}
                />
              ) : null}
            </>
          ) : null}
          {scope !== "system" && sites.size > 0 ? (
            <>
              <label>
                <input type="checkbox" checked={isLimited} onChange={(event) => limit(event.target.checked)} /> Limited
                to some sites
              </label>
              {isLimited ? (
                <Boxes legend="Sites" name="siteIds" of={sites} chosen={user.siteIds ?? []} errorsOf={errorsOf} />
              ) : null}
            </>
          ) : null}
        </>
      )}
    </FormDialog>
  );
}

type BoxesProps = { legend: string; name: string; of: Names; chosen: readonly string[]; errorsOf: ErrorsOf };

const Boxes = ({ legend, name, of, chosen, errorsOf }: BoxesProps) => (
  <>
    <fieldset className={forms.choices}>
      <legend>{legend}</legend>
      {[...of].map(([id, title]) => (
        <label key={id}>
          <input type="checkbox" name={name} value={id} defaultChecked={chosen.includes(id)} /> {title}
        </label>
      ))}
    </fieldset>
    {errorsOf(name) ? <p role="alert">{errorsOf(name)?.join(" ")}</p> : null}
  </>
);
