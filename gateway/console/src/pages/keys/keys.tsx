import type { ItemOf } from "@muster/client";
import { keyOperations } from "../../operations/keys.tsx";
import { newKey } from "../../operations/new-key.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import type { Column } from "../../parts/column.ts";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
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

const columns = (me: Me): Column<Key>[] => [
  {
    id: "name",
    title: "Name",
    width: "min(15rem, 17vw)",
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
  { ...stateColumn<Key>({ title: "Status", stateOf, noteOf: () => null }), width: "11rem" },
  {
    id: "end",
    title: "Ends",
    width: "11.5rem",
    isMinor: true,
    isQuiet: ({ expiresAt }) => expiresAt === null,
    cell: ({ status, expiresAt }) =>
      expiresAt !== null ? <Instant at={expiresAt} /> : status === "active" ? "when it is revoked" : null,
  },
  {
    id: "used",
    title: "Last used",
    width: "8rem",
    isMinor: true,
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  // Lists of any length: they have the width that is left.
  { id: "scopes", title: "Scopes", as: "note", cell: ({ scopes }) => scopes.join(", ") },
  nextColumn(me, keyOperations, (key) => key.name),
  actionsColumn(keyOperations, (key) => key.name),
];
