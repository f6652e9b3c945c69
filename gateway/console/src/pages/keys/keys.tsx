import type { ItemOf } from "@muster/client";
import { keyOperations } from "../../operations/keys.tsx";
import { newKey } from "../../operations/new-key.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { EndsAt } from "../../parts/ends-at.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
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
      toneOf={(key) => keyHealth(key, new Date()).tone}
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

const columns = (me: Me): Column<Key>[] => [
  { id: "name", title: "Name", cell: ({ name }) => name },
  { id: "prefix", title: "Begins with", width: "8.5rem", cell: ({ keyPrefix }) => <code>{keyPrefix}</code> },
  { id: "scopes", title: "Scopes", as: "note", cell: ({ scopes }) => scopes.join(", ") },
  {
    id: "status",
    title: "Status",
    width: "9.5rem",
    as: "state",
    cell: (key) => {
      const { word, tone } = keyHealth(key, new Date());
      return <Status of={word} tone={tone} />;
    },
  },
  {
    id: "ends",
    title: "Ends",
    width: "8rem",
    isMinor: true,
    cell: (key) => {
      const { status, expiresAt } = key;
      if (status !== "active") return <Time at={expiresAt} />;
      if (expiresAt !== null) return <EndsAt at={expiresAt} days={keyDays} />;
      return (
        <span className="soft" data-tip="It is accepted until somebody revokes it.">
          never
        </span>
      );
    },
  },
  {
    id: "used",
    title: "Last used",
    width: "8rem",
    isMinor: true,
    isEnd: true,
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  nextColumn(me, keyOperations, (key) => key.name),
  actionsColumn(keyOperations, (key) => key.name),
];
