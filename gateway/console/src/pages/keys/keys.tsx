import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { keyOperations } from "../../operations/keys.tsx";
import { RowOperations } from "../../operations/operation-buttons.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ChooseFirst } from "../../parts/form-dialog.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { NewKey } from "./new-key.tsx";

type Key = ItemOf<"/api/v1/api-keys">;

/** API keys that are visible to the user. */
export function Keys() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const [isMaking, make] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const create = (
    <Operation name="POST /api/v1/api-keys" isPrimary onClick={() => make(true)}>
      New API key
    </Operation>
  );
  return (
    <>
      <ListPage
        title="API keys"
        section="keys"
        noun="keys"
        path="/api/v1/api-keys"
        filters={["orgId", "status", "search", "expiresBefore"]}
        text={{ name: "search", label: "Name, or the key's beginning" }}
        labels={{ expiresBefore: "Ends before" }}
        choices={[
          {
            name: "status",
            label: "Status",
            options: asOptions(["active", "expired", "revoked"]),
          },
        ]}
        actions={create}
        columns={columns}
        empty={
          <EmptyState title="No API key yet.">
            <p>Programs call the API with a key that has the scopes they need.</p>
            {create}
          </EmptyState>
        }
      />
      {isMaking ? (
        chosenOrgId ? (
          <NewKey orgId={chosenOrgId} onClose={() => make(false)} onMade={setSecret} />
        ) : (
          <ChooseFirst title="New API key" what="A key" onClose={() => make(false)} />
        )
      ) : null}
      {secret === null ? null : (
        <SecretOnce
          title="The new key"
          secret={secret}
          note="Programs send it as X-API-Key; it is shown only once."
          onClose={() => setSecret(null)}
        />
      )}
    </>
  );
}

const columns: Column<Key>[] = [
  { id: "name", title: "Name", cell: ({ name }) => name },
  { id: "prefix", title: "Begins with", width: "10rem", cell: ({ keyPrefix }) => <code>{keyPrefix}</code> },
  { id: "scopes", title: "Scopes", isMinor: true, cell: ({ scopes }) => scopes.join(", ") },
  { id: "status", title: "Status", width: "9.5rem", as: "state", cell: ({ status }) => <Status of={status} /> },
  {
    id: "used",
    title: "Last used",
    width: "9rem",
    isMinor: true,
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  {
    id: "ends",
    title: "Ends",
    width: "8rem",
    isMinor: true,
    cell: ({ expiresAt }) => (expiresAt === null ? <span className="soft">never</span> : <Time at={expiresAt} />),
  },
  {
    id: "actions",
    title: "Actions",
    width: "5rem",
    isEnd: true,
    as: "end",
    cell: (key) => <RowOperations of={key} operations={keyOperations} name={key.name} />,
  },
];
