import { useState } from "react";
import { useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { asOptions, ChoiceField } from "../../parts/filter-bar.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { MoreRows } from "../../parts/more-rows.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { EmptyState, FailureState, Loading } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";

const levels = ["error", "warn", "info", "debug"] as const;

/** Stored logs of the device's agent, newest first. */
export default function DeviceLogs({ id }: { id: string }) {
  const isHidden = useWhyNot("GET /api/v1/devices/{id}/diagnostic-logs") !== null;
  const [level, setLevel] = useState("");
  const [search, setSearch] = useState("");
  const logs = useList(
    "/api/v1/devices/{id}/diagnostic-logs",
    { params: { path: { id }, query: { level, search } } },
    { enabled: !isHidden },
  );
  if (isHidden) return null;
  return (
    <Section
      title="Agent logs"
      action={
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setSearch(String(new FormData(event.currentTarget).get("text")));
          }}
        >
          <ChoiceField
            label="Level"
            none="any"
            options={asOptions(levels)}
            value={level}
            choose={(chosen = "") => setLevel(chosen)}
          />
          <label>
            <span className="visually-hidden">Text of a message</span>
            <input name="text" type="search" placeholder="Text of a message" defaultValue={search} maxLength={1000} />
          </label>
        </form>
      }
    >
      {logs.failure ? <FailureState failure={logs.failure} onRetry={() => void logs.refresh()} /> : null}
      {logs.isLoading ? <Loading what="Loading logs" /> : null}
      {!logs.isLoading && !logs.failure && logs.rows.length === 0 ? (
        <EmptyState title={level || search ? "No message matches." : "Its agent has sent no logs yet."} />
      ) : null}
      {logs.rows.length > 0 ? (
        <PlainTable columns={["Time", "Level", "Component", "Message"]}>
          {logs.rows.map((row) => (
            <tr key={row.id}>
              <td>
                <Instant at={row.timestamp} />
              </td>
              <td>{row.level}</td>
              <td>{row.component}</td>
              <td className={plain.message}>{row.message}</td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={logs}>Older messages</MoreRows>
    </Section>
  );
}
