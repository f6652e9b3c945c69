import { useState } from "react";
import { useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { MoreRows } from "../../parts/more-rows.tsx";
import { Options } from "../../parts/options.tsx";
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
        <div>
          <label>
            Level <span className="visually-hidden">of events</span>{" "}
            <select value={level} onChange={(event) => setLevel(event.target.value)}>
              <option value="">all</option>
              <Options of={levels} />
            </select>
          </label>{" "}
          <label>
            Category <span className="visually-hidden">of events</span>{" "}
            <select value={category} onChange={(event) => setCategory(event.target.value)}>
              <option value="">all</option>
              <Options of={categories} />
            </select>
          </label>
        </div>
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
