import type { Scope } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { actionsColumn } from "../../operations/operation-buttons.tsx";
import { PrincipalKey, principalOperations } from "../../operations/principals.tsx";
import { Field } from "../../parts/field.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ChooseFirst, FormDialog } from "../../parts/form-dialog.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { ScopeBoxes } from "../../parts/scope-boxes.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { checkedOf } from "../../rules/checked.ts";

/** Service principals: named programs that stay while their key changes. */
export function Principals() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const [isMaking, make] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const create = (
    <Operation name="POST /api/v1/service-principals" isPrimary onClick={() => make(true)}>
      New service principal
    </Operation>
  );
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
          { id: "status", title: "Status", width: "9.5rem", cell: ({ status }) => <Status of={status} /> },
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
          actionsColumn(principalOperations, ({ name }) => name),
        ]}
        empty={
          <EmptyState title="No service principal yet.">
            <p>A service principal is a program with a name of its own. Its key can change; audit rows name it.</p>
            {create}
          </EmptyState>
        }
      />
      {isMaking ? (
        chosenOrgId ? (
          <NewPrincipal orgId={chosenOrgId} onClose={() => make(false)} onMade={setSecret} />
        ) : (
          <ChooseFirst title="New service principal" what="A service principal" onClose={() => make(false)} />
        )
      ) : null}
      {secret === null ? null : <PrincipalKey secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}

/** Makes a principal; `onMade` gets its key. */
function NewPrincipal({ orgId, onClose, onMade }: { orgId: string; onClose(): void; onMade(key: string): void }) {
  const forget = useForget();
  return (
    <FormDialog
      title="New service principal"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      send={async (form) => {
        const body = { orgId, name: String(form.get("name")), scopes: checkedOf<Scope>(form, "scopes") };
        const { key } = await dataOf(api.POST("/api/v1/service-principals", { body }));
        await forget("/api/v1/service-principals", "/api/v1/api-keys");
        return key;
      }}
      onSent={onMade}
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
  );
}
