import { useState } from "react";
import { useList } from "../../api/queries.ts";
import { Controls, Section } from "../../parts/facts.tsx";
import { asOptions, ChoiceField } from "../../parts/filter-bar.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { MoreRows } from "../../parts/more-rows.tsx";
import styles from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { EmptyState, ListState } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";

const levels = ["critical", "error", "warning", "info"] as const;
const categories = ["security", "hardware", "application", "system"] as const;

/** Stored events of the device's own logs, newest first. */
export default function DeviceEvents({ id }: { id: string }) {
  const isHidden = useWhyNot("GET /api/v1/devices/{id}/eventlogs") !== null;
  const [level, setLevel] = useState("");
  const [category, setCategory] = useState("");
  const events = useList(
    "/api/v1/devices/{id}/eventlogs",
    { params: { path: { id }, query: { level, category } } },
    { enabled: !isHidden },
  );
  if (isHidden) return null;
  return (
    <Section
      title="Events"
      action={
        <Controls>
          <ChoiceField
            label={<OfEvents>Level</OfEvents>}
            none="any"
            options={asOptions(levels)}
            value={level}
            choose={(chosen = "") => setLevel(chosen)}
          />
          <ChoiceField
            label={<OfEvents>Category</OfEvents>}
            none="any"
            options={asOptions(categories)}
            value={category}
            choose={(chosen = "") => setCategory(chosen)}
          />
        </Controls>
      }
    >
      <ListState list={events} what="Loading events">
        <EmptyState title={level || category ? "No event matches." : "Its agent has sent no events yet."} />
      </ListState>
      {events.rows.length > 0 ? (
        <PlainTable columns={["Time", "Level", "Category", "Source", "Event", "Message"]}>
          {events.rows.map((row) => (
            <tr key={row.id}>
              <td>
                <Instant at={row.timestamp} />
              </td>
              <td>{row.level}</td>
              <td>{row.category}</td>
              <td>{row.source}</td>
              <td>{row.eventId}</td>
              <td className={styles.message}>{row.message}</td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={events}>Older events</MoreRows>
    </Section>
  );
}

/** The page has other choices of these names. */
const OfEvents = ({ children }: { children: string }) => (
  <>
    {children} <span className="visually-hidden">of events</span>
  </>
);
