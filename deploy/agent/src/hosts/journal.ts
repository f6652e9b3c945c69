import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { EventFilter, EventLog, EventStore, LiveEvent } from "@muster/agent";
import { type EventSource, idOf, type SystemEvent, storable } from "./event-source.ts";
import { followLines, type ReadLine } from "./follow-lines.ts";

/**
 * An entry as `journalctl -o json` prints it: texts, arrays of bytes for what is no UTF-8, null for what is too long.
 */
export type JournalEntry = Record<string, string | number[] | (string | number[])[] | null | undefined>;

const fields = [
  "MESSAGE",
  "PRIORITY",
  "SYSLOG_IDENTIFIER",
  "SYSLOG_FACILITY",
  "_SYSTEMD_UNIT",
  "_COMM",
  "_PID",
  "_UID",
  "_HOSTNAME",
].join(",");
/** Entries that a live query reads at most. */
const scanMax = 50_000;
const queryMs = 20_000;
const ownUnit = "muster-agent.service";

const priorities = ["critical", "critical", "critical", "error", "warning", "info", "info", "info"] as const;
const liveLevels = [
  "critical",
  "critical",
  "critical",
  "error",
  "warning",
  "information",
  "information",
  "verbose",
] as const;

/** A field as a text. */
function textOf(value: JournalEntry[string]): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  // A field that an entry has several times, or bytes that are no UTF-8.
  if (value.every((each) => typeof each === "number")) return Buffer.from(value as number[]).toString("utf8");
  return textOf(value[0] as string);
}

const priorityOf = (entry: JournalEntry): number => {
  const priority = Number(textOf(entry.PRIORITY) || "6");
  return priority >= 0 && priority <= 7 ? priority : 6;
};

/** `auth` and `authpriv` are 4 and 10, the kernel is 0 (RFC 5424). */
function categoryOf(entry: JournalEntry): SystemEvent["category"] {
  const facility = textOf(entry.SYSLOG_FACILITY);
  if (facility === "4" || facility === "10") return "security";
  if (facility === "0") return "hardware";
  return textOf(entry._UID) !== "" && Number(textOf(entry._UID)) >= 1000 ? "application" : "system";
}

const sourceOf = (entry: JournalEntry): string =>
  storable(textOf(entry.SYSLOG_IDENTIFIER) || textOf(entry._SYSTEMD_UNIT) || textOf(entry._COMM) || "unknown", 255);

const microsOf = (entry: JournalEntry): number => Number(textOf(entry.__REALTIME_TIMESTAMP));

const timeOf = (entry: JournalEntry): string => new Date(microsOf(entry) / 1000).toISOString();

/** The platform's form of an entry; null for the agent's own, which would follow from each post. */
export function eventOf(entry: JournalEntry): SystemEvent | null {
  if (textOf(entry._SYSTEMD_UNIT) === ownUnit || textOf(entry.SYSLOG_IDENTIFIER) === "muster-agent") return null;
  if (!Number.isFinite(microsOf(entry))) return null;
  const [unit, pid] = [textOf(entry._SYSTEMD_UNIT), textOf(entry._PID)];
  const details = { ...(unit ? { unit } : {}), ...(pid ? { pid } : {}) };
  return {
    timestamp: timeOf(entry),
    level: priorities[priorityOf(entry)] ?? "info",
    category: categoryOf(entry),
    source: sourceOf(entry),
    // A cursor is longer than the platform's record numbers.
    eventId: idOf(textOf(entry.__CURSOR)),
    message: storable(textOf(entry.MESSAGE)) || "(empty)",
    ...(Object.keys(details).length > 0 ? { details } : {}),
  };
}

/** Null for a line that is no entry. */
export function parseEntry(line: string): JournalEntry | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as JournalEntry) : null;
  } catch {
    return null;
  }
}

function journalctl(args: readonly string[]): ChildProcess {
  // Without a pager, colors and the words of another language.
  const env = { PATH: process.env.PATH, LC_ALL: "C.UTF-8", SYSTEMD_PAGER: "" };
  return spawn("journalctl", ["--quiet", "--no-pager", "-o", "json", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env,
  });
}

/** journald's entries: followed by cursor, and read by live queries. */
export function journalSource(hostname: string): EventSource {
  return {
    name: "journal",
    store: journalStore(hostname),
    follow(cursor, take, signal) {
      const from = cursor === null ? ["--lines=0"] : [`--after-cursor=${cursor}`, "--no-tail"];
      const child = journalctl(["--follow", `--output-fields=${fields}`, ...from]);
      return followLines({ child, parse: lineOf, cursor, take, signal });
    },
  };
}

function lineOf(text: string): ReadLine | null {
  const entry = parseEntry(text);
  return entry && { event: eventOf(entry), cursor: textOf(entry.__CURSOR) };
}

/** Newest first, until `each` returns false or the query's time is over. */
async function scan(
  args: readonly string[],
  signal: AbortSignal | undefined,
  each: (entry: JournalEntry) => boolean,
): Promise<void> {
  const child = journalctl(["--reverse", `--lines=${scanMax}`, `--output-fields=${fields}`, ...args]);
  const kill = () => child.kill("SIGKILL");
  const timer = setTimeout(kill, queryMs);
  signal?.addEventListener("abort", kill, { once: true });
  child.on("error", () => {
    // Its output is empty then.
  });
  try {
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const entry = parseEntry(line);
      if (entry && !each(entry)) break;
    }
  } finally {
    clearTimeout(timer);
    kill();
  }
}

const liveOf = (entry: JournalEntry, hostname: string): LiveEvent => ({
  recordId: microsOf(entry),
  timeCreated: timeOf(entry),
  level: liveLevels[priorityOf(entry)] ?? "information",
  source: sourceOf(entry),
  eventId: 0,
  message: storable(textOf(entry.MESSAGE)),
  category: textOf(entry._SYSTEMD_UNIT) || categoryOf(entry),
  user: textOf(entry._UID) || null,
  computer: textOf(entry._HOSTNAME) || hostname,
});

const wholeJournal = "journal";

/** The whole journal, and each syslog identifier, as logs. A record's number is its time in microseconds. */
function journalStore(hostname: string): EventStore {
  const describe = async (signal?: AbortSignal): Promise<EventLog[]> => {
    const found = new Map<string, { count: number; last: string }>();
    let [all, last] = [0, ""];
    await scan([], signal, (entry) => {
      all += 1;
      last ||= timeOf(entry);
      const counted = found.get(sourceOf(entry));
      if (counted) counted.count += 1;
      else found.set(sourceOf(entry), { count: 1, last: timeOf(entry) });
      return true;
    });
    const logOf = (name: string, recordCount: number, lastWriteTime: string): EventLog => {
      return { name, displayName: name, recordCount, maxSize: 0, retentionDays: 0, lastWriteTime };
    };
    const logs = [...found].map(([name, log]) => logOf(name, log.count, log.last));
    return [logOf(wholeJournal, all, last || new Date(0).toISOString()), ...logs.slice(0, 4_999)];
  };
  const named = async (name: string, signal?: AbortSignal) =>
    (await describe(signal)).find((log) => log.name.toLowerCase() === name.toLowerCase()) ?? null;
  const argsOf = (log: EventLog) => (log.name === wholeJournal ? [] : [`--identifier=${log.name}`]);

  return {
    logs: describe,
    log: named,
    async events(name, filter, signal) {
      const log = await named(name, signal);
      if (log === null) return null;
      const events: LiveEvent[] = [];
      let total = 0;
      const skip = (filter.page - 1) * filter.limit;
      await scan([...argsOf(log), ...timesOf(filter)], signal, (entry) => {
        const event = liveOf(entry, hostname);
        if (!fits(event, filter)) return true;
        if (total >= skip && events.length < filter.limit) events.push(event);
        total += 1;
        return true;
      });
      return { events, total };
    },
    async event(name, recordId, signal) {
      const log = await named(name, signal);
      if (log === null) return null;
      let found: LiveEvent | undefined;
      const second = Math.floor(recordId / 1e6);
      await scan([...argsOf(log), `--since=@${second}`, `--until=@${second + 1}`], signal, (entry) => {
        if (microsOf(entry) === recordId) found = liveOf(entry, hostname);
        return found === undefined;
      });
      return found;
    },
  };
}

function timesOf({ startTime, endTime }: EventFilter): string[] {
  const at = (text: string) => `@${(Date.parse(text) / 1000).toFixed(3)}`;
  return [...(startTime ? [`--since=${at(startTime)}`] : []), ...(endTime ? [`--until=${at(endTime)}`] : [])];
}

export function fits(event: LiveEvent, { level, source, eventId, startTime, endTime }: EventFilter): boolean {
  return (
    (level === undefined || event.level === level) &&
    (source === undefined || event.source === source) &&
    (eventId === undefined || event.eventId === eventId) &&
    (startTime === undefined || event.timeCreated >= startTime) &&
    (endTime === undefined || event.timeCreated <= endTime)
  );
}
