import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useGet, useList } from "../../api/queries.ts";
import { DeliveriesTable } from "../../parts/delivery-tables.tsx";
import { Controls, Section } from "../../parts/facts.tsx";
import { asOptions, ChoiceField } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { MoreRows } from "../../parts/more-rows.tsx";
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
};

/** What was sent through a webhook, newest first. */
export function Deliveries({ id, subscribed, status, setStatus }: DeliveriesProps) {
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
  const choices = [
    ["Status", states, status, setStatus],
    ["Answer", answers, answer, setAnswer],
    ["Event", events, event, setEvent],
  ] as const;
  return (
    <Section
      title="Deliveries"
      action={
        <Controls>
          {choices.map(([label, values, value, choose]) => (
            <ChoiceField
              key={label}
              label={label}
              none="any"
              options={asOptions(values)}
              value={value}
              choose={(chosen = "") => choose(chosen)}
            />
          ))}
        </Controls>
      }
    >
      <ListState list={list} what="Loading deliveries">
        <EmptyState title={isFiltered ? "No delivery matches." : "Nothing has been delivered yet."} />
      </ListState>
      {list.rows.length > 0 ? (
        <DeliveriesTable
          rows={list.rows}
          hasMore={list.hasMore}
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
