import type { ItemOf } from "@muster/client";
import { Link2 } from "lucide-react";
import { newPortalLink } from "../../operations/new-portal-link.tsx";
import { OperationButton, RowOperations } from "../../operations/operation-buttons.tsx";
import { portalLinkOperations } from "../../operations/portal-links.tsx";
import type { Column } from "../../parts/column.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { organizationColumn } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { capabilityWords, stateOf } from "../../rules/portal-link-state.ts";

type PortalLink = ItemOf<"/api/v1/webhooks/portal-links">;

/** Links that open the webhook portal to people without an account, until a day after their end. */
export function PortalLinks() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const create = <OperationButton of={{ orgId }} operation={newPortalLink} />;
  return (
    <ListPage
      title="Portal links"
      section="webhooks"
      path="/api/v1/webhooks/portal-links"
      filters={["orgId"]}
      everyMs={10_000}
      actions={create}
      columns={columns(me.scope !== "organization" && !orgId)}
      empty={
        <EmptyState title="No portal link is in use." icon={Link2}>
          <p>
            A link opens the organization's webhooks and deliveries to people who have no account here, for up to an
            hour.
          </p>
          {create}
        </EmptyState>
      }
    />
  );
}

/** The tone of a state: an open session is work that goes on, not a fault. */
const tones = { revoked: "off", expired: "off", open: "run", "not opened": "warn" } as const;

const columns = (isEverywhere: boolean): Column<PortalLink>[] => [
  { id: "name", title: "Name", cell: ({ name }) => name },
  {
    id: "state",
    title: "State",
    width: "9.5rem",
    as: "state",
    cell: (link) => {
      const state = stateOf(link, new Date());
      return <Status of={state} tone={tones[state]} />;
    },
  },
  ...(isEverywhere ? [organizationColumn] : []),
  {
    id: "may",
    title: "Besides seeing, it may",
    isMinor: true,
    cell: ({ capabilities }) => capabilities.map((each) => capabilityWords[each]).join("; ") || "nothing",
  },
  { id: "by", title: "Made by", width: "12rem", isMinor: true, cell: ({ createdBy }) => createdBy.name },
  { id: "opened", title: "Opened", width: "9rem", isMinor: true, cell: ({ openedAt }) => <Time at={openedAt} /> },
  { id: "ends", title: "Ends", width: "9rem", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  {
    id: "actions",
    title: "Actions",
    width: "5rem",
    isEnd: true,
    as: "end",
    cell: (link) => <RowOperations of={link} operations={portalLinkOperations} name={link.name} />,
  },
];
