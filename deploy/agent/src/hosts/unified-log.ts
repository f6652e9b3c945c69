import { type ChildProcess, spawn } from "node:child_process";
import { basename } from "node:path";
import { fieldsOf } from "@muster/kit/agent";
import { type EventSource, idOf, type SystemEvent, storable } from "./event-source.ts";
import { followLines, type ReadLine } from "./follow-lines.ts";

/**
 * What is read of a Mac's log (`log(1)`, "PREDICATE-BASED FILTERING"): errors, faults, and what programs such as sudo
 * and logger say without a subsystem. All of it is thousands of lines a second.
 */
const predicate = 'eventType == logEvent AND (messageType == error OR messageType == fault OR subsystem == "")';

const levels: ReadonlyMap<string, SystemEvent["level"]> = new Map([
  ["Error", "error"],
  ["Fault", "critical"],
]);
const securityPrograms = /^(sudo|su|sshd|login|loginwindow|securityd|authd|opendirectoryd|trustd)$/;
/** As `log` prints a time: `2025-08-09 10:11:55.521570-0400`. */
const timeForm = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3})\d*([+-]\d\d):?(\d\d)$/;
/** Of the process of an entry that the kernel made itself. */
const kernel = "kernel";

/**
 * The platform's form of a line of `log … --style ndjson`; null for one that is no entry, as the first and the last.
 */
export function unifiedLineOf(line: string): ReadLine | null {
  const entry = objectIn(line);
  const time = timeOf(textIn(entry.timestamp));
  if (time === null || (entry.eventType ?? "logEvent") !== "logEvent") return null;
  const program = basename(textIn(entry.processImagePath)) || kernel;
  const cursor = time.toISOString();
  // The agent's own would follow from each post.
  if (program === "muster-agent") return { event: null, cursor };
  return { event: eventOf(entry, program, cursor), cursor };
}

function eventOf(entry: Readonly<Record<string, unknown>>, program: string, timestamp: string): SystemEvent {
  const [message, subsystem, category] = [entry.eventMessage, entry.subsystem, entry.category].map(textIn);
  const numbers = [entry.bootUUID, entry.machTimestamp, entry.threadID, entry.traceID].map(String);
  const about = { subsystem, category, pid: entry.processID ? String(entry.processID) : "" };
  const details = Object.fromEntries(Object.entries(about).flatMap(([name, value]) => (value ? [[name, value]] : [])));
  return {
    timestamp,
    level: levels.get(textIn(entry.messageType)) ?? "info",
    category: categoryOf(program, textIn(entry.processImagePath)),
    source: storable(program, 255),
    // An entry has no number of its own; two of one moment differ by thread or text.
    eventId: idOf(timestamp, ...numbers, message ?? ""),
    message: storable(message ?? "") || "(empty)",
    ...(Object.keys(details).length > 0 ? { details } : {}),
  };
}

function categoryOf(program: string, path: string): SystemEvent["category"] {
  if (securityPrograms.test(program)) return "security";
  if (program === kernel) return "hardware";
  return /^\/(System|usr|sbin|bin|Library\/Apple)\//.test(path) ? "system" : "application";
}

function timeOf(text: string): Date | null {
  const [, date, time, hours, minutes] = timeForm.exec(text) ?? [];
  const at = new Date(`${date}T${time}${hours}:${minutes}`);
  return Number.isNaN(at.getTime()) ? null : at;
}

const textIn = (value: unknown): string => (typeof value === "string" ? value : "");

function objectIn(line: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return {};
  }
}

/** Starts Apple's `log`. */
const startLog = (args: readonly string[]): ChildProcess =>
  spawn("/usr/bin/log", [...args, "--style", "ndjson", "--predicate", predicate], {
    stdio: ["ignore", "pipe", "pipe"],
  });

/**
 * The unified log of a Mac. `log stream` knows no cursor: what was written while the agent was away is read by `log
 * show`, from the second of the last entry on; the platform stores a repeat once.
 */
export function unifiedLogSource(start: (args: readonly string[]) => ChildProcess = startLog): EventSource {
  return {
    name: "unified log",
    store: null,
    async follow(cursor, take, signal) {
      // First: what is written while the past is read waits in it.
      const stream = start(["stream", "--level", "default"]);
      const reading = { parse: unifiedLineOf, take, signal };
      try {
        if (cursor !== null) {
          const child = start(["show", "--start", `@${Math.floor(Date.parse(cursor) / 1000)}`]);
          await followLines({ ...reading, child, cursor, mayEnd: true });
        }
      } catch (error) {
        stream.kill("SIGKILL");
        throw error;
      }
      return followLines({ ...reading, child: stream, cursor });
    },
  };
}
