import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { Options } from "../../parts/options.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { EmptyState, ListState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";

const states = ["pending", "retrying", "delivered", "failed"] as const;

/** What was sent through a webhook, newest first. */
export function Deliveries({ id }: { id: string }) {
  const [status, setStatus] = useState("");
  const list = useList(
    "/api/v1/webhooks/{id}/deliveries",
    { params: { path: { id }, query: { status } } },
    { everyMs: 5_000 },
  );
  return (
    <Section
      title="Deliveries"
      action={
        <label>
          Status{" "}
          <select value={status} onChange={(event) => setStatus(event.target.value)}>
            <option value="">all</option>
            <Options of={states} />
          </select>
        </label>
      }
    >
      <ListState list={list} what="Loading deliveries">
        <EmptyState title={status ? "No delivery is in this state." : "Nothing has been delivered yet."} />
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Event", "Status", "Answer", "Attempts", "Time"]}>
          {list.rows.map((row) => (
            <tr key={row.id}>
              <td>
                <Link to="/webhooks/$id/deliveries/$deliveryId" params={{ id, deliveryId: row.id }}>
                  {row.event}
                </Link>
              </td>
              <td>
                <Status of={row.status} />
              </td>
              <td>{row.responseStatus ?? row.errorMessage ?? ""}</td>
              <td>{row.attempt}</td>
              <td>
                <Instant at={row.createdAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      {list.hasMore ? (
        <div>
          <button type="button" disabled={list.isLoadingMore} onClick={() => void list.loadMore()}>
            Older deliveries
          </button>
        </div>
      ) : null}
    </Section>
  );
}
