import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { domainOperations } from "../../operations/domains.tsx";
import { actionsColumn } from "../../operations/operation-buttons.tsx";
import { Field } from "../../parts/field.tsx";
import { ChooseFirst, FormDialog } from "../../parts/form-dialog.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** Domains of e-mail addresses that organizations and partners have claimed, proven by a TXT record. */
export function Domains() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const [isClaiming, claim] = useState(false);
  const create = (
    <Operation name="POST /api/v1/sso/domains" isPrimary onClick={() => claim(true)}>
      Claim a domain
    </Operation>
  );
  return (
    <>
      <ListPage
        title="Domains"
        section="signIn"
        path="/api/v1/sso/domains"
        filters={["orgId"]}
        actions={create}
        columns={[
          { id: "domain", title: "Domain", cell: ({ domain }) => domain },
          {
            id: "verified",
            title: "Verified",
            width: "10rem",
            cell: ({ verifiedAt }) =>
              verifiedAt === null ? <span className="soft">not yet</span> : <Time at={verifiedAt} />,
          },
          {
            id: "checked",
            title: "Last checked",
            width: "9rem",
            isMinor: true,
            cell: ({ lastCheckedAt }) => <Time at={lastCheckedAt} />,
          },
          { id: "error", title: "Problem", isMinor: true, cell: ({ lastError }) => lastError },
          actionsColumn(domainOperations, ({ domain }) => domain),
        ]}
        empty={
          <EmptyState title="No domain is claimed yet.">
            <p>
              A verified domain leads its people to your identity provider by their e-mail address. An organization's
              provider may create their accounts.
            </p>
            {create}
          </EmptyState>
        }
      />
      {isClaiming ? (
        chosenOrgId || me.scope === "partner" ? (
          <ClaimDomain orgId={chosenOrgId} onClose={() => claim(false)} />
        ) : (
          <ChooseFirst title="Claim a domain" what="A domain" onClose={() => claim(false)} />
        )
      ) : null}
    </>
  );
}

/** Claims a domain for an organization, or for the user's partner. */
function ClaimDomain({ orgId, onClose }: { orgId: string | undefined; onClose(): void }) {
  const forget = useForget();
  return (
    <FormDialog
      title="Claim a domain"
      verb="Claim"
      running="Claiming …"
      onClose={onClose}
      send={async (form) => {
        const at = orgId ? { orgId } : { ownerScope: "partner" as const };
        const body = { domain: String(form.get("domain")).trim(), ...at };
        await dataOf(api.POST("/api/v1/sso/domains", { body }));
        await forget("/api/v1/sso/domains");
      }}
    >
      {(errorsOf) => (
        <Field
          label="Domain"
          hint="It takes effect once its TXT record was found: “Verify” shows the record."
          errors={errorsOf("domain")}
        >
          <input name="domain" required maxLength={255} placeholder="acme.example" spellCheck={false} />
        </Field>
      )}
    </FormDialog>
  );
}
