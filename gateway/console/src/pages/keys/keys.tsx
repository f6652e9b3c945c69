import type { ItemOf } from "@muster/client";
import { keyOperations } from "../../operations/keys.tsx";
import { newKey } from "../../operations/new-key.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import type { Column } from "../../parts/table.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { ago } from "../../rules/ago.ts";
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

/** How a key is, in a word; one that ends soon, by when. */
function stateOf(key: Key) {
  const now = new Date();
  const shown = keyHealth(key, now);
  return shown.tone === "warn" && key.expiresAt
    ? { ...shown, word: `ends ${ago(new Date(key.expiresAt), now, "long")}` }
    : shown;
}

/** Until when a key is accepted. */
function endOf({ status, expiresAt }: Key) {
  if (expiresAt === null) return status === "active" ? "Accepted until it is revoked" : null;
  return (
    <>
      {new Date(expiresAt) <= new Date() ? "Ended" : "Accepted until"} <Instant at={expiresAt} />
    </>
  );
}

const columns = (me: Me): Column<Key>[] => [
  {
    id: "name",
    title: "Name",
    width: "16rem",
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
  stateColumn({ title: "Status", stateOf, noteOf: endOf }),
  { id: "scopes", title: "Scopes", width: "min(18rem, 19vw)", as: "note", cell: ({ scopes }) => scopes.join(", ") },
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
