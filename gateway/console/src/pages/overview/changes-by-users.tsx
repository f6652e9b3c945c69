import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { iconOf } from "../../parts/action-icon.tsx";
import { EventList } from "../../parts/event-list.tsx";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { actionWords, actorOf, isByUser } from "../../rules/action-words.ts";
import { foldedRows } from "../../rules/machine-actions.ts";

const most = 8;

/** What people changed last: without agents' own entries and sign-ins, and of a bulk job its own row alone. */
export function ChangesByUsers({ orgId }: { orgId: string | undefined }) {
  const query = {
    limit: "50",
    skipCount: "true",
    ...foldedRows,
    ...(orgId ? { orgId } : {}),
  };
  const { data, error, isPending, refetch } = useGet(
    "/api/v1/audit-logs/logs",
    { params: { query } },
    { everyMs: 60_000 },
  );
  const [{ orgId: chosen }] = useFilters();
  const rows = (data?.data ?? []).filter(isByUser);
  const folded = (data?.data.length ?? 0) - rows.length;
  return (
    <Section title="Changes by people" action={<Link {...to("/audit", { orgId: chosen })}>Audit</Link>}>
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {isPending ? <Loading what="Loading changes" /> : null}
      {data && rows.length === 0 ? <p className="soft">Nobody changed anything lately.</p> : null}
      <EventList
        of={rows.slice(0, most).map((row) => {
          const { did, kind, name } = actionWords(row);
          return {
            key: row.id,
            at: row.timestamp,
            icon: iconOf(row.action),
            text: (
              <Link {...toRecord("/audit/$id", { id: row.id }, { orgId: chosen })}>
                <b>{actorOf(row)}</b> {did} {kind} {name ? <b>{name}</b> : null}
              </Link>
            ),
          };
        })}
      />
      {folded > 0 ? <p className="soft">{folded} newer entries by machines are folded.</p> : null}
    </Section>
  );
}
