import type { ItemOf } from "@muster/client";
import { keyOperations } from "../../operations/keys.tsx";
import { newKey } from "../../operations/new-key.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import type { Column } from "../../parts/column.ts";
import { EndsAt } from "../../parts/ends-at.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { keyDays } from "../../rules/ending.ts";
import { keyHealth } from "../../rules/health.ts";
import type { Me } from "../../rules/why-not.ts";

type Key = ItemOf<"/api/v1/api-keys">;

/** API keys that are visible to the user. */
export function Keys() {
  const me = useMe();
  const [{ orgId }] = useFilters();
  const create = <OperationButton of={{ orgId }} operation={newKey} />;
  return (
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
      isShort
      toneOf={(key) => stateOf(key).tone}
      actions={create}
      columns={columns(me)}
      empty={
        <EmptyState title="No API key yet.">
          <p>Programs call the API with a key that has the scopes they need.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

const stateOf = (key: Key) => keyHealth(key, new Date());

const columns = (me: Me): Column<Key>[] => [
  {
    id: "name",
    title: "Name",
    hasNote: true,
    cell: ({ name, keyPrefix }) => (
      <>
        {name}
        <small>
          <code>{keyPrefix}…</code>
        </small>
      </>
    ),
  },
  { ...stateColumn<Key>({ title: "Status", stateOf, noteOf: () => null }), width: "9rem" },
  {
    id: "end",
    title: "Ends",
    width: "8.5rem",
    isMinor: true,
    cell: ({ status, expiresAt }) =>
      status === "active" ? <EndsAt at={expiresAt} days={keyDays} /> : expiresAt && <Time at={expiresAt} />,
  },
  {
    id: "used",
    title: "Last used",
    width: "8.5rem",
    isMinor: true,
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  // Lists of any length: they share the width that is left with the names.
  { id: "scopes", title: "Scopes", cell: ({ scopes }) => scopes.join(", ") },
  nextColumn(me, keyOperations, (key) => key.name),
  actionsColumn(keyOperations, (key) => key.name),
];
