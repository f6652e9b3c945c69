import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { auditEvents } from "../../parts/audit-line.tsx";
import { EventList, type ListedEvent } from "../../parts/event-list.tsx";
import { Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { useNameOf } from "../../parts/name-of.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Instant, Time, useShortTime } from "../../parts/time.tsx";
import { actorWords, words } from "../../rules/action-words.ts";
import { around, offsetWords } from "../../rules/around.ts";
import { counted } from "../../rules/counted.ts";
import { isRecordId } from "../../rules/ids.ts";
import { foldedBeside } from "../../rules/machine-actions.ts";
import { namedTypes, rowText } from "../../rules/row-sentence.ts";

type Entry = BodyOf<"/api/v1/audit-logs/logs/{id}">;

/** Lines that are shown, and rows that are read on either side to find them. */
const [most, readMost] = [9, 50];
const hourMs = 3_600_000;
const freshMs = 60_000;
const path = "/api/v1/audit-logs/logs";

type By = { resourceId: string } | { actorId: string };

/** The entries of a filter next to this one in time: at most `spanMs` from it, and those that `isMeant`. */
function useAround(row: Entry, by: By, spanMs: number | null, isMeant: (other: Entry) => boolean = () => true) {
  const instant = (offsetMs: number) => new Date(Date.parse(row.timestamp) + offsetMs).toISOString();
  const of = { ...by, ...foldedBeside(row), ...(row.orgId ? { orgId: row.orgId } : {}), skipCount: "true" };
  const [from, until] = spanMs === null ? [{}, {}] : [{ from: instant(-spanMs) }, { to: instant(spanMs) }];
  const query = (times: object, limit: number) => ({ params: { query: { ...of, ...times, limit: String(limit) } } });
  const older = useGet(path, query({ ...from, to: row.timestamp }, readMost), { freshMs });
  const newer = useGet(path, query({ ...until, from: row.timestamp }, readMost), { freshMs });
  const isMore = Boolean(newer.data?.pagination.nextCursor);
  const meant = (rows: readonly Entry[] = []) => rows.filter(isMeant);
  const read = { older: meant(older.data?.data), newer: meant(newer.data?.data), isMore };
  return {
    ...around<Entry>(row, read, { most, textOf: rowText }),
    /** How far back was searched, where the time for it was up before. */
    searchedTo: older.data?.pagination.searchedTo ?? null,
    isLoading: older.isLoading || newer.isLoading,
    failure: (older.error ?? newer.error)?.failure ?? null,
    retry: () => void Promise.all([older, newer].filter(({ error }) => error).map((each) => each.refetch())),
  };
}

type Found = ReturnType<typeof useAround>;
type AroundCardProps = {
  title: string;
  of: Entry;
  found: Found;
  /** Filters of the audit trail that find all of them. */
  all: By;
  says: "who" | "what";
  timeOf(row: Entry): ListedEvent["time"];
  /** Instead of a list of the entry alone. */
  alone: string;
};

/** The entries next to this one as lines, this one marked, and where the others are. */
function AroundCard({ title, of: entry, found, all, says, timeOf, alone }: AroundCardProps) {
  const { lines, newerCount, searchedTo, isLoading, failure, retry } = found;
  const short = useShortTime();
  const orgId = entry.orgId ?? undefined;
  const search = { ...all, orgId };
  const isAlone = lines.length === 1 && newerCount === 0;
  const newer = newerCount === null ? `More than ${readMost} newer entries` : counted(newerCount, "newer entries");
  return (
    <Section title={title} action={isAlone ? null : <Link {...to("/audit", search)}>All in the audit trail</Link>}>
      {failure ? <FailureState failure={failure} onRetry={retry} /> : null}
      {isLoading ? <Loading what="Loading what is around it" /> : null}
      {!isLoading && !failure && isAlone ? <p className="soft">{alone}</p> : null}
      {isLoading || isAlone ? null : (
        <>
          {newerCount === 0 ? null : (
            <p>
              <Link {...to("/audit", { ...search, from: entry.timestamp })}>{newer}</Link>
            </p>
          )}
          <EventList of={auditEvents(lines, { orgId, says, currentId: entry.id, timeOf })} />
        </>
      )}
      {searchedTo === null ? null : (
        <p className="soft">Searched back to {short(new Date(searchedTo), "toMinute")}: older ones are in the trail.</p>
      )}
    </Section>
  );
}

/** What was recorded of the same record, before and after; nothing where the entry is about no record. */
export function RecordHistory({ of: entry }: { of: Entry }) {
  const { id } = entry.resource;
  return isRecordId(id) ? <History of={entry} id={id} /> : null;
}

function History({ of: entry, id }: { of: Entry; id: string }) {
  const { type, name: recorded } = entry.resource;
  const found = useNameOf(id, recorded === null && namedTypes.includes(type));
  const name = recorded ?? found;
  const by = { resourceId: id };
  return (
    <AroundCard
      title={name ? `History of ${name}` : `History of the ${words(type)}`}
      of={entry}
      found={useAround(entry, by, null)}
      all={by}
      says="who"
      timeOf={(row) => <Instant at={row.timestamp} />}
      alone="Nothing else is recorded of it."
    />
  );
}

/** What the same actor did within an hour before and after; nothing of what Muster and devices do by themselves. */
export function ActorAround({ of: entry }: { of: Entry }) {
  const { actorType, user } = entry;
  const isByItself = actorType === "system" || actorType === "agent";
  return isByItself || !isRecordId(user.id) ? null : <ByActor of={entry} />;
}

function ByActor({ of: entry }: { of: Entry }) {
  const by = { actorId: entry.user.id };
  const { user, actorType } = entry;
  const who = user.name || user.email ? actorWords(entry) : `this ${words(actorType)}`;
  const { id } = entry.resource;
  // What was done to the same record is its history, which stands beside.
  const isElsewhere = ({ resource }: Entry) => id === null || !isRecordId(id) || resource.id !== id;
  return (
    <AroundCard
      title={`What else ${who} did then`}
      of={entry}
      found={useAround(entry, by, hourMs, isElsewhere)}
      all={by}
      says="what"
      timeOf={(row) => (
        <Time
          at={row.timestamp}
          as={row.id === entry.id ? "this entry" : offsetWords(row.timestamp, entry.timestamp)}
        />
      )}
      alone="Nothing else within an hour before and after."
    />
  );
}
