import type { ItemOf, Scope } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Field } from "../../parts/field.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ChooseFirst, FormDialog } from "../../parts/form-dialog.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { RowAction } from "../../parts/row-action.tsx";
import { ScopeBoxes } from "../../parts/scope-boxes.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { checkedOf } from "../../rules/checked.ts";

type Principal = ItemOf<"/api/v1/service-principals">;
type Asking = { kind: "new" } | { kind: "rotate" | "disable" | "migrate"; principal: Principal } | null;

/** Service principals: named programs that stay while their key changes. */
export function Principals() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const why = useWhyNot("POST /api/v1/service-principals");
  const forget = useForget();
  const [asking, ask] = useState<Asking>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const close = () => ask(null);
  const create = (
    <Operation name="POST /api/v1/service-principals" isPrimary onClick={() => ask({ kind: "new" })}>
      New service principal
    </Operation>
  );
  const changed = () => forget("/api/v1/service-principals", "/api/v1/api-keys");
  return (
    <>
      <ListPage
        title="Service principals"
        section="keys"
        path="/api/v1/service-principals"
        filters={["orgId", "status", "search"]}
        text={{ name: "search", label: "Name" }}
        choices={[{ name: "status", label: "Status", options: asOptions(["active", "disabled"]) }]}
        actions={create}
        columns={[
          { id: "name", title: "Name", cell: ({ name }) => name },
          { id: "status", title: "Status", width: "8rem", cell: ({ status }) => <Status of={status} /> },
          { id: "scopes", title: "Scopes", isMinor: true, cell: ({ scopes }) => scopes.join(", ") },
          {
            id: "key",
            title: "Its key begins with",
            width: "11rem",
            isMinor: true,
            cell: ({ keyPrefix }) =>
              keyPrefix === null ? <span className="soft">no key</span> : <code>{keyPrefix}</code>,
          },
          {
            id: "made",
            title: "Created",
            width: "8rem",
            isMinor: true,
            cell: ({ createdAt }) => <Time at={createdAt} />,
          },
          {
            id: "actions",
            title: "Actions",
            width: "16rem",
            cell: (principal) =>
              why === null && principal.status === "active"
                ? (["rotate", "migrate", "disable"] as const).map((kind) => (
                    <span key={kind}>
                      <RowAction of={principal.name} onClick={() => ask({ kind, principal })}>
                        {kind === "rotate" ? "New key" : kind === "migrate" ? "Adopt a key" : "Disable"}
                      </RowAction>{" "}
                    </span>
                  ))
                : null,
          },
        ]}
        empty={
          <EmptyState title="No service principal yet.">
            <p>A service principal is a program with a name of its own. Its key can change; audit rows name it.</p>
            {create}
          </EmptyState>
        }
      />
      <PrincipalQuestions
        asking={asking}
        close={close}
        chosenOrgId={chosenOrgId}
        changed={changed}
        secret={secret}
        setSecret={setSecret}
      />
    </>
  );
}

function PrincipalQuestions({
  asking,
  close,
  chosenOrgId,
  changed,
  secret,
  setSecret,
}: {
  asking: Asking;
  close(): void;
  chosenOrgId: string | undefined;
  changed(): Promise<void>;
  secret: string | null;
  setSecret(secret: string | null): void;
}) {
  return (
    <>
      {asking?.kind === "new" && !chosenOrgId ? (
        <ChooseFirst title="New service principal" what="A service principal" onClose={close} />
      ) : null}
      <NewPrincipal asking={asking} close={close} chosenOrgId={chosenOrgId} changed={changed} setSecret={setSecret} />
      {asking?.kind === "rotate" ? (
        <Confirm
          title={`A new key for ${asking.principal.name}?`}
          verb="Make it"
          onClose={close}
          action={async () => {
            const params = { path: { id: asking.principal.id } };
            setSecret((await dataOf(api.POST("/api/v1/service-principals/{id}/rotate", { params }))).key);
            await changed();
          }}
        >
          <p>The previous key is refused at once: the program fails until it has the new one.</p>
        </Confirm>
      ) : null}
      {asking?.kind === "disable" ? (
        <Confirm
          title={`Disable ${asking.principal.name}?`}
          verb="Disable"
          typed={asking.principal.name}
          onClose={close}
          action={async () => {
            const params = { path: { id: asking.principal.id } };
            await dataOf(api.POST("/api/v1/service-principals/{id}/disable", { params }));
            await changed();
          }}
        >
          <p>Each of its keys is refused at once and permanently. The principal and its audit rows stay.</p>
        </Confirm>
      ) : null}
      {asking?.kind === "migrate" ? (
        <AdoptKey principal={asking.principal} onClose={close} onDone={() => void changed()} />
      ) : null}
      {secret === null ? null : (
        <SecretOnce
          title="The principal's key"
          secret={secret}
          note="The program sends it as X-API-Key; it is shown only once."
          onClose={() => setSecret(null)}
        />
      )}
    </>
  );
}

function NewPrincipal({
  asking,
  close,
  chosenOrgId,
  changed,
  setSecret,
}: {
  asking: Asking;
  close(): void;
  chosenOrgId: string | undefined;
  changed(): Promise<void>;
  setSecret(secret: string | null): void;
}) {
  return asking?.kind === "new" && chosenOrgId ? (
    <FormDialog
      title="New service principal"
      verb="Create"
      running="Creating …"
      onClose={close}
      send={async (form) => {
        const body = {
          orgId: chosenOrgId,
          name: String(form.get("name")),
          scopes: checkedOf<Scope>(form, "scopes"),
        };
        const { key } = await dataOf(api.POST("/api/v1/service-principals", { body }));
        await changed();
        return key;
      }}
      onSent={setSecret}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} autoComplete="off" />
          </Field>
          <ScopeBoxes errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  ) : null;
}

/** A principal adopts an API key that is in use: its program keeps the key. */
function AdoptKey({ principal, onClose, onDone }: { principal: Principal; onClose(): void; onDone(): void }) {
  const query = { orgId: principal.orgId, status: "active", limit: "100" } as const;
  const keys = useGet("/api/v1/api-keys", { params: { query } });
  const free = (keys.data?.data ?? []).filter(({ principalId }) => principalId === null);
  return (
    <FormDialog
      title={`Adopt a key for ${principal.name}`}
      verb="Adopt"
      running="Adopting …"
      isDisabled={free.length === 0}
      onClose={onClose}
      send={async (form) => {
        const params = { path: { id: principal.id } };
        const body = { keyId: String(form.get("keyId")) };
        await dataOf(api.POST("/api/v1/service-principals/{id}/migrate-key", { params, body }));
        onDone();
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            The key keeps working, with the scopes that both it and the principal have. The principal's previous key is
            revoked.
          </p>
          <Field
            label="API key"
            {...(keys.data && free.length === 0 ? { hint: "No active key of the organization is free." } : {})}
            errors={errorsOf("keyId")}
          >
            <select name="keyId" required>
              {free.map(({ id, name, keyPrefix }) => (
                <option key={id} value={id}>
                  {name} ({keyPrefix}…)
                </option>
              ))}
            </select>
          </Field>
        </>
      )}
    </FormDialog>
  );
}
