import { counter, type FieldErrors, hasFields, validationError } from "@muster/kit";
import { brokenLine, type EntryList, listOfJson, listOfLines } from "./entry-list.ts";
import { FieldReader, maxMessageLength } from "./field-reader.ts";
import { utf8Text } from "./utf8.ts";

/** Entries of one request (docs/agent-protocol.md#diagnostic-logs). */
export const maxAgentLogs = 500;
export const maxEvents = 1_000;

export const agentLogLevels = ["debug", "info", "warn", "error"] as const;
export const eventLevels = ["info", "warning", "error", "critical"] as const;
export const eventCategories = ["security", "hardware", "application", "system"] as const;

/** Invalid UTF-8 of requests with logs. */
export const replacedUtf8 = counter(
  "muster_device_logs_invalid_utf8_total",
  "Invalid sequences of UTF-8 in logs, each stored as U+FFFD.",
);

/** A diagnostic log entry that was checked. */
export type AgentLogEntry = {
  /** ISO 8601 UTC with milliseconds. */
  timestamp: string;
  level: string;
  component: string;
  message: string;
  fieldsJson: string | null;
  agentVersion: string | null;
};

/** An event that was checked, its defaults filled in. */
export type EventEntry = {
  timestamp: string;
  level: string;
  category: string;
  source: string;
  eventId: string | null;
  message: string;
  detailsJson: string | null;
};

/** An entry that cannot be stored: its position in the request, and what is wrong by field; `entry` is the whole. */
export type RefusedEntry = { index: number; errors: FieldErrors };

export type Checked<T> = { entries: T[]; refused: RefusedEntry[] };

/** How the entries of a request are written: a JSON object or array, or an entry on each line. */
export type LogFormat = "json" | "ndjson";

/**
 * The entries of `{"logs": […]}`, of `[…]`, or of lines, and the refused ones. Throws `validation_failed` when all are
 * refused or there are too many, `invalid_json` for a body that is no JSON.
 */
export function readAgentLogs(body: Uint8Array, format: LogFormat = "json"): Checked<AgentLogEntry> {
  const text = textOf(body);
  const list =
    format === "ndjson" ? listOfLines(text, "logs", maxAgentLogs) : listOfJson(text, "logs", maxAgentLogs, true);
  const checked = checkEach(list, agentLogOf);
  if (checked.refused.length > 0 && checked.entries.length === 0) throw allOf("logs", checked.refused);
  return checked;
}

/**
 * The entries of `{"events": […]}`. Throws `validation_failed` that names the index and the field of each bad one,
 * `invalid_json` for a body that is no JSON.
 */
export function readEvents(body: Uint8Array): EventEntry[] {
  const { entries, refused } = checkEach(listOfJson(textOf(body), "events", maxEvents, false), eventOf);
  if (refused.length > 0) throw allOf("events", refused);
  return entries;
}

type Entry = Readonly<Record<string, unknown>>;

const agentLogOf = (entry: Entry, field: FieldReader): AgentLogEntry => ({
  timestamp: field.time("timestamp", entry.timestamp),
  level: field.oneOf("level", entry.level, agentLogLevels),
  component: field.text("component", entry.component, 1, 100),
  message: field.text("message", entry.message, 0, maxMessageLength),
  fieldsJson: field.object("fields", entry.fields),
  agentVersion: field.optional("agentVersion", entry.agentVersion, 50),
});

const eventOf = (entry: Entry, field: FieldReader): EventEntry => ({
  timestamp: field.time("timestamp", entry.timestamp),
  level: entry.level === undefined ? "info" : field.oneOf("level", entry.level, eventLevels),
  category: entry.category === undefined ? "system" : field.oneOf("category", entry.category, eventCategories),
  source: field.text("source", entry.source, 1, 255),
  eventId: field.optional("eventId", entry.eventId, 100),
  message: field.text("message", entry.message, 0, maxMessageLength),
  detailsJson: field.object("details", entry.details),
});

function textOf(body: Uint8Array): string {
  const { text, replaced } = utf8Text(body);
  if (replaced > 0) replacedUtf8.inc(replaced);
  return text;
}

function checkEach<T>({ values, textOf }: EntryList, read: (entry: Entry, field: FieldReader) => T): Checked<T> {
  let index = 0;
  const field = new FieldReader((part) => textOf(part, index));
  const entries: T[] = [];
  const refused: RefusedEntry[] = [];
  for (; index < values.length; index++) {
    const value = values[index];
    field.errors = null;
    const entry = hasFields(value) ? read(value, field) : null;
    if (entry === null) field.note("entry", value === brokenLine ? "Must be JSON" : "Must be an object");
    if (field.errors !== null) refused.push({ index, errors: field.errors });
    else if (entry !== null) entries.push(entry);
  }
  return { entries, refused };
}

/** Every error of every entry, by path. */
function allOf(name: string, refused: readonly RefusedEntry[]) {
  const pairs = refused.flatMap(({ index, errors }) =>
    Object.entries(errors).map(([field, texts]) => [
      field === "entry" ? `${name}.${index}` : `${name}.${index}.${field}`,
      texts,
    ]),
  );
  return validationError(Object.fromEntries(pairs) as FieldErrors);
}
