import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { useGet } from "../api/queries.ts";
import forms from "../parts/field.module.css";
import { Field } from "../parts/field.tsx";
import type { ErrorsOf } from "../parts/form-dialog.tsx";
import { useMe } from "../parts/me.tsx";
import { useOrganizationNames } from "../parts/use-organization-names.ts";
import { choicesOf, orgAccesses } from "../rules/account-access.ts";
import { whyNot } from "../rules/why-not.ts";

type User = ItemOf<"/api/v1/users">;
type Owner = Pick<User, "scope" | "orgId">;
type Names = ReadonlyMap<string, string>;

/** Names of the organizations and sites that an account may be limited to. */
export function useScopeNames(of: Owner): { organizations: Names; sites: Names } {
  const me = useMe();
  const organizations = useOrganizationNames(of.scope !== "organization" || of.orgId !== me.orgId);
  const mayReadSites = whyNot(me, "GET /api/v1/orgs/sites") === null;
  const sites = useGet(
    "/api/v1/orgs/sites",
    { params: { query: { ...(of.orgId ? { orgId: of.orgId } : {}), limit: "100" } } },
    { enabled: mayReadSites },
  );
  const siteNames = new Map(sites.data?.data.map(({ id, name }) => [id, name]));
  return { organizations, sites: siteNames };
}

type AccessFieldsProps = { of: Owner & Pick<User, "orgAccess" | "orgIds" | "siteIds">; errorsOf: ErrorsOf };

/** To which organizations and sites an account is limited; `accountAccess` reads them. */
export function AccessFields({ of: user, errorsOf }: AccessFieldsProps) {
  const { organizations, sites } = useScopeNames(user);
  const [access, setAccess] = useState<string>(user.orgAccess ?? "all");
  const [isLimited, limit] = useState(user.siteIds !== null);
  const hasSites = user.scope !== "system" && sites.size > 0;
  return (
    <>
      {user.scope === "partner" ? (
        <Field label="Organization access" errors={errorsOf("orgAccess")}>
          <select name="orgAccess" value={access} onChange={(event) => setAccess(event.target.value)}>
            {Object.entries(orgAccesses).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </Field>
      ) : null}
      {user.scope === "partner" && access === "selected" ? (
        <Boxes legend="Organizations" name="orgIds" of={organizations} chosen={user.orgIds} errorsOf={errorsOf} />
      ) : null}
      {hasSites ? (
        <label>
          <input type="hidden" name="siteAccess" value={isLimited ? "some" : "all"} />
          <input type="checkbox" checked={isLimited} onChange={(event) => limit(event.target.checked)} /> Limited to
          some sites
        </label>
      ) : null}
      {hasSites && isLimited ? (
        <Boxes legend="Sites" name="siteIds" of={sites} chosen={user.siteIds ?? []} errorsOf={errorsOf} />
      ) : null}
    </>
  );
}

type BoxesProps = { legend: string; name: string; of: Names; chosen: readonly string[]; errorsOf: ErrorsOf };

const Boxes = ({ legend, name, of, chosen, errorsOf }: BoxesProps) => (
  <>
    <fieldset className={forms.choices}>
      <legend>{legend}</legend>
      {choicesOf(of, chosen).map(([id, title]) => (
        <label key={id}>
          <input type="checkbox" name={name} value={id} defaultChecked={chosen.includes(id)} /> {title}
        </label>
      ))}
    </fieldset>
    {errorsOf(name) ? <p role="alert">{errorsOf(name)?.join(" ")}</p> : null}
  </>
);
