import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { iconOf } from "../../parts/action-icon.tsx";
import { EventList } from "../../parts/event-list.tsx";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import { actorOf, rowTitle } from "../../rules/action-words.ts";

const most = 8;

type ActivityProps = {
  title: string;
  /** Filters of the audit trail. */
  by: { actorId: string } | { resourceId: string };
  orgId: string | null;
  /** Whether rows say who did it. */
  hasActor?: true;
};

/** The newest audit rows of a filter, and where all of them are; nothing without a row. */
export function Activity({ title, by, orgId, hasActor }: ActivityProps) {
  const search = { ...by, orgId: orgId ?? undefined };
  const query = { ...by, ...(orgId ? { orgId } : {}), limit: String(most), skipCount: "true" };
  const { data, error, isPending, refetch } = useGet("/api/v1/audit-logs/logs", { params: { query } });
  const rows = data?.data ?? [];
  // Without a row there is nothing to look at.
  if (data && rows.length === 0) return null;
  return (
    <Section
      title={title}
      action={rows.length > 0 ? <Link {...to("/audit", search)}>All in the audit trail</Link> : null}
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {isPending ? <Loading what="Loading the audit trail" /> : null}
      <EventList
        of={rows.map((row) => ({
          key: row.id,
          at: row.timestamp,
          icon: iconOf(row.action),
          text: (
            <Link
              {...toRecord("/audit/$id", { id: row.id }, { orgId: search.orgId })}
              className={row.result === "success" ? undefined : "bad"}
            >
              {rowTitle(row)} {hasActor ? <span className="soft">by {actorOf(row)}</span> : <b>{row.resource.name}</b>}
            </Link>
          ),
        }))}
      />
    </Section>
  );
}
