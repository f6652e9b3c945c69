import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { directoryOperations } from "../../operations/directories.tsx";
import { newDirectory } from "../../operations/new-directory.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { review } from "../../operations/review.ts";
import { Cause } from "../../parts/cause.tsx";
import type { Column } from "../../parts/column.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { useMe } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { cycleWords } from "../../rules/cycle-words.ts";
import { directoryHealth } from "../../rules/health.ts";
import type { Me } from "../../rules/why-not.ts";
import { Product } from "./product.tsx";

/** Directories that say who joins, changes and leaves. */
export function Directories() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const create = <OperationButton of={{ orgId }} operation={newDirectory} />;
  return (
    <ListPage
      title="Directories"
      section="directory"
      path="/api/v1/directories"
      filters={["orgId", "scope"]}
      {...(me.scope === "partner"
        ? { choices: [{ name: "scope", label: "Whose", options: [["partner", "the partner's own"]] as const }] }
        : {})}
      everyMs={30_000}
      note="People whom a directory adds, changes or removes are added, changed or removed here; its groups give them roles."
      isShort
      foot={({ scimUrl }) => (
        <Section title="What is entered at a directory">
          <Facts
            of={[
              ["SCIM address", <LongCode key="url" of={scimUrl} what="address" />],
              ["Token", "one per directory, shown once: when the directory is made, and when its token is rotated"],
            ]}
            isWide
          />
        </Section>
      )}
      toneOf={(directory) => directoryHealth(directory).tone}
      actions={create}
      columns={columns(me, orgId, me.scope !== "organization" && !orgId)}
      empty={
        <EmptyState title="No directory yet.">
          <p>
            Entra ID, Okta or another directory adds and removes people by SCIM 2.0, and its groups are their roles.
          </p>
          {create}
        </EmptyState>
      }
    />
  );
}

/** Why it fails, or how its last requests went; nothing of a paused one, which says it all. */
function noteOf(directory: ItemOf<"/api/v1/directories">) {
  const { tone } = directoryHealth(directory);
  if (directory.status === "paused") return null;
  if (tone === "off") return "Waits for its first request.";
  const reason = directory.health?.reason ?? "";
  return tone === "bad" ? <Cause of={reason} /> : reason;
}

/** Leads to the requests that were refused. */
const reviewOf = (orgId: string | undefined) =>
  review<ItemOf<"/api/v1/directories">>({
    id: "directory.review",
    needs: "GET /api/v1/directories/{id}",
    isNext: (directory) => directoryHealth(directory).tone === "bad",
    leads: ({ id }) => toRecord("/settings/directories/$id", { id }, { orgId }),
  });

const columns = (me: Me, orgId: string | undefined, isEverywhere: boolean): Column<ItemOf<"/api/v1/directories">>[] => [
  {
    id: "name",
    title: "Name",
    width: isEverywhere ? "13rem" : "min(18rem, 19vw)",
    hasNote: true,
    cell: ({ id, name, preset }) => (
      <>
        <Link {...toRecord("/settings/directories/$id", { id }, { orgId })}>{name}</Link>
        <small>
          <Product of={preset} />
        </small>
      </>
    ),
  },
  stateColumn({ title: "Health", stateOf: directoryHealth, noteOf }),
  ...(isEverywhere
    ? [
        {
          id: "org",
          title: "Whose",
          width: "12rem",
          cell: ({ orgId: owner, partnerId }: ItemOf<"/api/v1/directories">) =>
            owner ? <NameOf id={owner} /> : partnerId ? <NameOf id={partnerId} /> : null,
        },
      ]
    : []),
  {
    id: "done",
    title: "Last changes",
    width: "10rem",
    isMinor: true,
    isUsual: ({ lastCycle }) => lastCycle === null,
    cell: ({ lastCycle }) => <span className="soft">{lastCycle ? cycleWords(lastCycle) : "none yet"}</span>,
  },
  {
    id: "cycle",
    title: "Last request",
    width: "9rem",
    isMinor: true,
    cell: ({ lastCycle }) => <Time at={lastCycle?.lastAt ?? null} />,
  },
  nextColumn(me, [...directoryOperations, reviewOf(orgId)], (directory) => directory.name),
  actionsColumn(directoryOperations, (directory) => directory.name),
];
