import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { useMe, whyNot } from "../../api/me.tsx";
import { dataOf, useGet } from "../../api/queries.ts";
import { useAssignableRoles } from "../../api/use-assignable-roles.ts";
import { useOrganizationNames } from "../../api/use-organization-names.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { type ErrorsOf, FormDialog } from "../../parts/form-dialog.tsx";
import { NamedOptions } from "../../parts/options.tsx";

type Person = ItemOf<"/api/v1/users">;

type MembershipProps = {
  of: Person;
  isChanging: boolean;
  onClose(): void;
  onDone(sentence: string): Promise<void>;
};

const orgAccesses = {
  all: "all organizations of the partner",
  selected: "some organizations",
  none: "no organization",
};

/** Scope, organizations and sites of a user; and the form that changes it. */
export function Membership({ of: person, isChanging, onClose, onDone }: MembershipProps) {
  const me = useMe();
  const organizations = useOrganizationNames(person.scope !== "organization" || person.orgId !== me.orgId);
  const mayReadSites = whyNot(me, "GET /api/v1/orgs/sites") === null;
  const sites = useGet(
    "/api/v1/orgs/sites",
    { params: { query: { ...(person.orgId ? { orgId: person.orgId } : {}), limit: "100" } } },
    { enabled: mayReadSites },
  );
  const siteNames = new Map(sites.data?.data.map(({ id, name }) => [id, name]));
  const named = (ids: readonly string[], names: ReadonlyMap<string, string>) =>
    ids.map((id) => names.get(id) ?? id.slice(0, 8)).join(", ");
  return (
    <>
      <Section title="Membership">
        <Facts
          of={[
            [
              "Member of",
              person.scope === "organization"
                ? (organizations.get(person.orgId ?? "") ?? "one organization")
                : person.scope === "partner"
                  ? "a partner"
                  : "the platform",
            ],
            ...(person.orgAccess
              ? [
                  ["Organization access", orgAccesses[person.orgAccess]] as const,
                  ["Organizations", named(person.orgIds, organizations) || null] as const,
                ]
              : []),
            ["Limited to sites", person.siteIds === null ? "no" : named(person.siteIds, siteNames)],
          ]}
        />
      </Section>
      {isChanging ? (
        <Change person={person} organizations={organizations} sites={siteNames} onClose={onClose} onDone={onDone} />
      ) : null}
    </>
  );
}

type Names = ReadonlyMap<string, string>;
type ChangeProps = Omit<MembershipProps, "of" | "isChanging"> & { person: Person; organizations: Names; sites: Names };

function Change({ person, organizations, sites, onClose, onDone }: ChangeProps) {
  const { scope } = person;
  const roles = useAssignableRoles(scope, person.orgId);
  const [access, setAccess] = useState(person.orgAccess ?? "all");
  const [isLimited, limit] = useState(person.siteIds !== null);
  return (
    <FormDialog
      title={`Change ${person.name}`}
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
        await dataOf(api.PATCH("/api/v1/users/{id}", { params: { path: { id: person.id } }, body }));
        await onDone("Saved; in force at once, everywhere.");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={person.name} autoComplete="off" />
          </Field>
          {roles ? (
            <Field label="Role" errors={errorsOf("roleId")}>
              <select name="roleId" required defaultValue={person.roleId}>
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
                  chosen={person.orgIds}
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
                <Boxes legend="Sites" name="siteIds" of={sites} chosen={person.siteIds ?? []} errorsOf={errorsOf} />
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
