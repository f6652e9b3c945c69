import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { directoryOperations } from "../../operations/directories.tsx";
import { newDirectory } from "../../operations/new-directory.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { review } from "../../operations/review.ts";
import { causeColumn } from "../../parts/cause.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListNote } from "../../parts/list-note.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { refusedWords } from "../../rules/cycle-words.ts";
import { directoryHealth, shownHealth } from "../../rules/health.ts";
import type { Me } from "../../rules/why-not.ts";

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
      segments={<ListNote>Who joins, changes or leaves in a directory does so here; its groups are roles.</ListNote>}
      toneOf={(directory) => shownHealth(directory).tone}
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

/** Leads to the requests that were refused. */
const reviewOf = (orgId: string | undefined) =>
  review<ItemOf<"/api/v1/directories">>({
    id: "directory.review",
    needs: "GET /api/v1/directories/{id}",
    isNext: (directory) => shownHealth(directory).tone === "bad",
    leads: ({ id }) => toRecord("/settings/directories/$id", { id }, { orgId }),
  });

const columns = (me: Me, orgId: string | undefined, isEverywhere: boolean): Column<ItemOf<"/api/v1/directories">>[] => [
  {
    id: "name",
    title: "Name",
    cell: ({ id, name }) => <Link {...toRecord("/settings/directories/$id", { id }, { orgId })}>{name}</Link>,
  },
  {
    id: "status",
    title: "Health",
    width: "9.5rem",
    as: "state",
    cell: (directory) => {
      const { word, tone } = directoryHealth(directory);
      return <Status of={word} tone={tone} />;
    },
  },
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
    id: "cycle",
    title: "Last request",
    width: "9rem",
    isMinor: true,
    cell: ({ lastCycle }) => <Time at={lastCycle?.lastAt ?? null} />,
  },
  {
    id: "refused",
    title: "Refused",
    width: "10rem",
    isMinor: true,
    cell: (directory) =>
      directory.lastCycle ? (
        <span className={shownHealth(directory).tone === "bad" ? "bad" : "soft"}>
          {refusedWords(directory.lastCycle)}
        </span>
      ) : null,
  },
  causeColumn((directory) => (shownHealth(directory).tone === "bad" ? (directory.health?.reason ?? null) : null)),
  nextColumn(me, [...directoryOperations, reviewOf(orgId)], (directory) => directory.name),
  actionsColumn(directoryOperations, (directory) => directory.name),
];
