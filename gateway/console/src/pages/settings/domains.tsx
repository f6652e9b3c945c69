import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, Failed, useForget } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Field } from "../../parts/field.tsx";
import { ChooseFirst, FormDialog } from "../../parts/form-dialog.tsx";
import { CopyButton } from "../../parts/list-head.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { RowAction } from "../../parts/row-action.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { failureSentence } from "../../rules/failure-sentence.ts";
import type { Me } from "../../rules/why-not.ts";

type Domain = ItemOf<"/api/v1/sso/domains">;
type Asking = { kind: "new" } | { kind: "verify" | "delete"; domain: Domain } | null;

/** Domains of e-mail addresses that organizations and partners have claimed, proven by a TXT record. */
export function Domains() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const why = useWhyNot("POST /api/v1/sso/domains/{id}/verify");
  const forget = useForget();
  const [asking, ask] = useState<Asking>(null);
  const close = () => ask(null);
  const create = (
    <Operation name="POST /api/v1/sso/domains" isPrimary onClick={() => ask({ kind: "new" })}>
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
          {
            id: "actions",
            title: "Actions",
            width: "11rem",
            cell: (domain) =>
              why === null ? (
                <>
                  {domain.verifiedAt === null ? (
                    <RowAction of={domain.domain} onClick={() => ask({ kind: "verify", domain })}>
                      Verify
                    </RowAction>
                  ) : null}{" "}
                  <RowAction of={domain.domain} onClick={() => ask({ kind: "delete", domain })}>
                    Give up
                  </RowAction>
                </>
              ) : null,
          },
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
      <DomainQuestions asking={asking} close={close} chosenOrgId={chosenOrgId} forget={forget} me={me} />
    </>
  );
}

function DomainQuestions({
  asking,
  close,
  chosenOrgId,
  forget,
  me,
}: {
  asking: Asking;
  close(): void;
  chosenOrgId: string | undefined;
  forget: ReturnType<typeof useForget>;
  me: Me;
}) {
  return (
    <>
      {asking?.kind === "new" ? (
        chosenOrgId || me.scope === "partner" ? (
          <FormDialog
            title="Claim a domain"
            verb="Claim"
            running="Claiming …"
            onClose={close}
            send={async (form) => {
              const at = chosenOrgId ? { orgId: chosenOrgId } : { ownerScope: "partner" as const };
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
        ) : (
          <ChooseFirst title="Claim a domain" what="A domain" onClose={close} />
        )
      ) : null}
      {asking?.kind === "verify" ? <Verify domain={asking.domain} onClose={close} /> : null}
      {asking?.kind === "delete" ? (
        <Confirm
          title={`Give ${asking.domain.domain} up?`}
          verb="Give up"
          onClose={close}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/sso/domains/{id}", { params: { path: { id: asking.domain.id } } }));
            await forget("/api/v1/sso/domains");
          }}
        >
          <p>Accounts for its addresses are no longer created, and others may claim it.</p>
        </Confirm>
      ) : null}
    </>
  );
}

/** The TXT record to create, and the check whether it exists. */
function Verify({ domain: { id, domain, recordName, recordValue }, onClose }: { domain: Domain; onClose(): void }) {
  const [said, say] = useState<string | null>(null);
  const [isLooking, setLooking] = useState(false);
  const forget = useForget();
  async function look() {
    setLooking(true);
    try {
      const found = await dataOf(api.POST("/api/v1/sso/domains/{id}/verify", { params: { path: { id } } }));
      say(found.verifiedAt ? `${domain} is verified.` : `Not found yet: ${found.lastError ?? "no such record"}`);
      await forget("/api/v1/sso/domains");
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(failureSentence(error.failure));
    } finally {
      setLooking(false);
    }
  }
  return (
    <Dialog title={`Verify ${domain}`} onClose={onClose}>
      <p>Create this TXT record at the domain's DNS provider; it may take an hour until it is visible.</p>
      <Facts
        of={[
          ["Name", <code key="name">{recordName}</code>],
          ["Value", <code key="value">{recordValue}</code>],
        ]}
      />
      <p role="status">{said}</p>
      <DialogActions>
        <CopyButton what="value" text={() => recordValue} />
        <button type="button" onClick={onClose}>
          Close
        </button>
        <button type="button" data-weight="primary" disabled={isLooking} onClick={() => void look()}>
          {isLooking ? "Looking …" : "Look now"}
        </button>
      </DialogActions>
    </Dialog>
  );
}
