import type { ItemOf } from "@muster/client";
import { newStream } from "../../operations/new-stream.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { streamOperations } from "../../operations/streams.tsx";
import { Cause } from "../../parts/cause.tsx";
import type { Column } from "../../parts/column.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { Address } from "../../parts/long-text.tsx";
import { useMe } from "../../parts/me.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { shownHealth } from "../../rules/health.ts";
import { streamTypes } from "../../rules/stream-body.ts";
import type { Me } from "../../rules/why-not.ts";

type Stream = ItemOf<"/api/v1/audit-logs/streams">;

/** Where an organization's audit rows go as they are sealed, and how far behind each is. */
export function Streams() {
  const me = useMe();
  const [{ orgId }] = useFilters();
  const create = <OperationButton of={{ orgId }} operation={newStream} />;
  return (
    <ListPage
      title="Streams"
      section="streams"
      path="/api/v1/audit-logs/streams"
      filters={["orgId"]}
      everyMs={10_000}
      isShort
      toneOf={(stream) => shownHealth(stream).tone}
      actions={create}
      columns={columns(me)}
      empty={
        <EmptyState title="No stream yet.">
          <p>A stream forwards each audit row as it is sealed: to your SIEM, to syslog, or to storage.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

/** Where a stream goes, without its credentials. */
const target = ({ type, url, s3 }: Stream) => (s3 ? `${s3.bucket}/${s3.prefix}` : (url ?? streamTypes[type]));

/** Why it fails, else what it sends. */
function causeOrKind(stream: Stream) {
  const cause = shownHealth(stream).tone === "bad" ? (stream.health?.reason ?? stream.lastError) : null;
  return cause ? (
    <Cause of={cause} />
  ) : (
    `${stream.format === "ocsf" ? "OCSF events" : "Rows"} to ${streamTypes[stream.type]}`
  );
}

const columns = (me: Me): Column<Stream>[] => [
  {
    id: "name",
    title: "Name",
    width: "min(22rem, 22vw)",
    hasNote: true,
    cell: (stream) => (
      <>
        {stream.name}
        <small data-tip={target(stream)}>
          <Address of={target(stream)} />
        </small>
      </>
    ),
  },
  stateColumn({ title: "Health", stateOf: shownHealth, noteOf: causeOrKind }),
  {
    id: "lag",
    title: "Lag",
    width: "6.5rem",
    isMinor: true,
    isEnd: true,
    cell: ({ lagRows }) =>
      lagRows === 0 ? "none" : <span className="warn">{`${lagRows.toLocaleString()} rows`}</span>,
  },
  {
    id: "sent",
    title: "Sent",
    width: "6rem",
    as: "none",
    isExtra: true,
    isEnd: true,
    cell: ({ rowsSent }) => rowsSent.toLocaleString(),
  },
  {
    id: "good",
    title: "Last success",
    width: "8rem",
    isMinor: true,
    isEnd: true,
    cell: ({ lastSuccessAt }) => <Time at={lastSuccessAt} />,
  },
  nextColumn(me, streamOperations, (stream) => stream.name),
  actionsColumn(streamOperations, (stream) => stream.name),
];
