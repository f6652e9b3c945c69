import { Link } from "@tanstack/react-router";
import { type RefObject, useState } from "react";
import { useGet, useList } from "../../api/queries.ts";
import { DeliveriesTable } from "../../parts/delivery-tables.tsx";
import { Controls, Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { MoreRows } from "../../parts/more-rows.tsx";
import { Options } from "../../parts/options.tsx";
import { EmptyState, ListState } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { isSubscribed } from "../../rules/subscribed.ts";

const states = ["pending", "retrying", "delivered", "failed"] as const;
const answers = ["2xx", "3xx", "4xx", "5xx", "none"] as const;

type DeliveriesProps = {
  id: string;
  subscribed: readonly string[];
  status: string;
  setStatus(status: string): void;
  /** The choice of the status, for what leads to it. */
  focused: RefObject<HTMLSelectElement | null>;
};

/** What was sent through a webhook, newest first. */
export function Deliveries({ id, subscribed, status, setStatus, focused }: DeliveriesProps) {
  const types = useGet("/api/v1/webhooks/event-types");
  const eventTypes = types.data?.data.map(({ type }) => type) ?? [];
  const own = subscribed.filter((each) => each.startsWith("custom.") && !each.endsWith("*"));
  const events = [...eventTypes.filter((type) => isSubscribed(subscribed, type)), ...own, "webhook.test"];
  const [answer, setAnswer] = useState("");
  const [event, setEvent] = useState("");
  const list = useList(
    "/api/v1/webhooks/{id}/deliveries",
    { params: { path: { id }, query: { status, answer, event } } },
    { everyMs: 5_000 },
  );
  const isFiltered = [status, answer, event].some((each) => each !== "");
  return (
    <Section
      title="Deliveries"
      action={
        <Controls>
          <label>
            Event{" "}
            <select value={event} onChange={({ target }) => setEvent(target.value)}>
              <option value="">all</option>
              <Options of={events} />
            </select>
          </label>
          <label>
            Answer{" "}
            <select value={answer} onChange={({ target }) => setAnswer(target.value)}>
              <option value="">all</option>
              <Options of={answers} />
            </select>
          </label>
          <label>
            Status{" "}
            <select ref={focused} value={status} onChange={({ target }) => setStatus(target.value)}>
              <option value="">all</option>
              <Options of={states} />
            </select>
          </label>
        </Controls>
      }
    >
      <ListState list={list} what="Loading deliveries">
        <EmptyState title={isFiltered ? "No delivery matches." : "Nothing has been delivered yet."} />
      </ListState>
      {list.rows.length > 0 ? (
        <DeliveriesTable
          rows={list.rows}
          timeOf={(time) => <Instant at={time} />}
          linkOf={(row) => (
            <Link {...toRecord("/webhooks/$id/deliveries/$deliveryId", { id, deliveryId: row.id })}>{row.event}</Link>
          )}
        />
      ) : null}
      <MoreRows of={list}>Older deliveries</MoreRows>
    </Section>
  );
}
