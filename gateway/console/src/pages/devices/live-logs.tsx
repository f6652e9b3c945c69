import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Controls, Section } from "../../parts/facts.tsx";
import { asOptions, ChoiceField } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { PageTitle } from "../../parts/page-title.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { EmptyState, FailureState, Loading } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { useFilters, useRecordId } from "../../parts/use-filters.ts";
import { useVisibility } from "../../parts/use-visibility.ts";
import { failureSentence } from "../../rules/failure-sentence.ts";
import styles from "./device.module.css";
import { useFollowedEvents } from "./use-followed-events.ts";

type LiveEvents = BodyOf<"/api/v1/devices/{id}/eventlogs/{name}/events">;

const levels = ["critical", "error", "warning", "information", "verbose"] as const;
const limit = 50;

/** Event logs as they are on the device this moment: queried from its agent, nothing is stored. */
export function LiveLogs() {
  const id = useRecordId("/devices/$id/live");
  const [{ log, level }, change] = useFilters();
  const path = { id };
  const device = useGet("/api/v1/devices/{id}", { params: { path } }, { everyMs: 10_000 });
  const isOnline = device.data !== undefined && !["offline", "decommissioned"].includes(device.data.status);
  const logs = useGet("/api/v1/devices/{id}/system-tools/eventlogs", { params: { path } }, { enabled: isOnline });
  const failure = device.error ?? logs.error;
  const [first, second] = logs.data?.data ?? [];
  // The only log needs no choice.
  const shown = log ?? (second ? undefined : first?.name);
  return (
    <>
      <PageTitle title={device.data ? `Live logs of ${device.data.hostname}` : "Live logs"} />
      <p>
        <Link {...toRecord("/devices/$id", { id })}>The device</Link>
      </p>
      {failure ? (
        <FailureState failure={failure.failure} onRetry={() => void (device.error ? device : logs).refetch()} />
      ) : null}
      {device.data && !isOnline ? (
        <EmptyState title="The device is offline.">
          <p>
            Live logs come from its agent: this page continues as soon as the device is online. Stored logs are on the
            device's page.
          </p>
        </EmptyState>
      ) : null}
      {!failure && !logs.data && (isOnline || !device.data) ? <Loading what="Querying the device" /> : null}
      {logs.data && !first ? <EmptyState title="The device has no event logs." /> : null}
      {logs.data && first ? (
        <label>
          Log{" "}
          <select value={shown ?? ""} onChange={(event) => change({ log: event.target.value || undefined })}>
            {second || shown !== first.name ? <option value="">Choose one</option> : null}
            {logs.data.data.map(({ name, displayName, recordCount }) => (
              <option key={name} value={name}>
                {displayName} ({recordCount.toLocaleString()})
              </option>
            ))}
          </select>
        </label>
      ) : null}
      {isOnline && shown ? <Events key={`${shown} ${level}`} id={id} log={shown} level={level} /> : null}
    </>
  );
}

function Events({ id, log, level }: { id: string; log: string; level: string | undefined }) {
  const [, change] = useFilters();
  const [page, setPage] = useState(1);
  const [isFollowing, follow] = useState(true);
  // Only the newest page moves.
  const isMoving = isFollowing && page === 1;
  const wanted = levels.find((each) => each === level);
  const query = { page: String(page), limit: String(limit), ...(wanted ? { level: wanted } : {}) };
  const events = useGet("/api/v1/devices/{id}/eventlogs/{name}/events", {
    params: { path: { id, name: log }, query },
  });
  const read = events.data?.data ?? [];
  const newest = read[0]?.recordId ?? 0;
  const followed = useFollowedEvents({
    id,
    log,
    level: wanted,
    after: page === 1 && events.data ? newest : undefined,
    isOn: isMoving,
    onSkipped: () => void events.refetch(),
  });
  const [top, isTopVisible] = useVisibility();
  // While the user reads older events further down, nothing moves: new events wait.
  const [shownUpTo, showUpTo] = useState(0);
  const fresh = page === 1 ? followed.events.filter(({ recordId }) => recordId > newest) : [];
  const [first] = fresh;
  useEffect(() => {
    if (isTopVisible && first) showUpTo(first.recordId);
  }, [isTopVisible, first]);
  const rows = [...fresh.filter(({ recordId }) => recordId <= shownUpTo), ...read];
  const waiting = fresh.filter(({ recordId }) => recordId > shownUpTo).length;
  const total = (events.data?.pagination.total ?? 0) + fresh.length;
  const pages = Math.max(1, Math.ceil(total / limit));
  return (
    <Section
      title={log}
      action={
        <Controls>
          <ChoiceField
            label="Level"
            none="any"
            options={asOptions(levels)}
            value={level ?? ""}
            choose={(chosen) => change({ level: chosen })}
          />
          <button
            type="button"
            aria-pressed={isMoving}
            onClick={() => (page === 1 ? follow(!isFollowing) : setPage(1))}
          >
            {isMoving ? "Following" : "Paused: follow"}
          </button>
        </Controls>
      }
    >
      <div ref={top} />
      {followed.failure ? <p role="alert">{failureSentence(followed.failure)} Asking again …</p> : null}
      {events.error ? <FailureState failure={events.error.failure} onRetry={() => void events.refetch()} /> : null}
      {events.isPending ? <Loading what="Querying the device" /> : null}
      {events.data && rows.length === 0 ? (
        <EmptyState title={level ? "The log has no such event." : "The log has no events."} />
      ) : null}
      <EventTable
        rows={rows}
        page={page}
        pages={pages}
        setPage={setPage}
        waiting={waiting}
        isTopVisible={isTopVisible}
        events={events}
      />
    </Section>
  );
}

function EventTable({
  rows,
  page,
  pages,
  setPage,
  waiting,
  isTopVisible,
  events,
}: {
  rows: LiveEvents["data"];
  page: number;
  pages: number;
  setPage(page: number): void;
  waiting: number;
  isTopVisible: boolean;
  events: { data?: LiveEvents | undefined };
}) {
  return events.data && rows.length > 0 ? (
    <>
      <PlainTable columns={["Time", "Level", "Source", "Event", "Message"]}>
        {rows.map((event) => (
          <tr key={event.recordId}>
            <td>
              {Number.isNaN(Date.parse(event.timeCreated)) ? event.timeCreated : <Instant at={event.timeCreated} />}
            </td>
            <td>{event.level}</td>
            <td>{event.source}</td>
            <td>{event.eventId}</td>
            <td className={plain.message}>{event.message}</td>
          </tr>
        ))}
      </PlainTable>
      <Waiting count={isTopVisible ? 0 : waiting} />
      <div>
        <button type="button" disabled={page === 1} onClick={() => setPage(page - 1)}>
          Newer
        </button>{" "}
        Page {page} of {pages.toLocaleString()}{" "}
        <button type="button" disabled={page >= pages} onClick={() => setPage(page + 1)}>
          Older
        </button>
      </div>
    </>
  ) : null;
}

/** Shown at the bottom of the screen, since the user has scrolled down. */
const Waiting = ({ count }: { count: number }) => (
  <p role="status" className={count > 0 ? styles.waiting : "visually-hidden"}>
    {count === 0
      ? ""
      : `Paused while you read further down: ${count.toLocaleString()} new ${count === 1 ? "event waits" : "events wait"} at the top.`}
  </p>
);
