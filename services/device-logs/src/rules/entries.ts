import { type FieldErrors, longerThan, parseKeepingNumbers, validationError } from "@muster/kit";

/** Entries of one request (docs/behaviour.md#agent-logs). */
export const maxAgentLogs = 500;
export const maxEvents = 1_000;

export const agentLogLevels = ["debug", "info", "warn", "error"] as const;
export const eventLevels = ["info", "warning", "error", "critical"] as const;
export const eventCategories = ["security", "hardware", "application", "system"] as const;

/** Characters of a message, and of the JSON text of `fields` and `details`. */
export const maxMessageLength = 65_536;
export const maxObjectLength = 65_536;

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

/** The entries of `{"logs": […]}`. Throws `validation_failed` that names the index and the field of each bad one. */
export function readAgentLogs(bodyJson: Uint8Array): AgentLogEntry[] {
  return readEntries(bodyJson, "logs", maxAgentLogs, (entry, field) => ({
    timestamp: field.time("timestamp", entry.timestamp),
    level: field.oneOf("level", entry.level, agentLogLevels),
    component: field.text("component", entry.component, 1, 100),
    message: field.text("message", entry.message, 0, maxMessageLength),
    fieldsJson: field.object("fields", entry.fields),
    agentVersion: field.optional("agentVersion", entry.agentVersion, 50),
  }));
}

/** The entries of `{"events": […]}`. Throws as `readAgentLogs`. */
export function readEvents(bodyJson: Uint8Array): EventEntry[] {
  return readEntries(bodyJson, "events", maxEvents, (entry, field) => ({
    timestamp: field.time("timestamp", entry.timestamp),
    level: entry.level === undefined ? "info" : field.oneOf("level", entry.level, eventLevels),
    category: entry.category === undefined ? "system" : field.oneOf("category", entry.category, eventCategories),
    source: field.text("source", entry.source, 1, 255),
    eventId: field.optional("eventId", entry.eventId, 100),
    message: field.text("message", entry.message, 0, maxMessageLength),
    detailsJson: field.object("details", entry.details),
  }));
}

type Entry = Record<string, unknown>;
type Field = ReturnType<typeof fieldReader>;

const utf8 = new TextDecoder("utf-8", { fatal: true });

function readEntries<T>(bodyJson: Uint8Array, name: string, max: number, read: (entry: Entry, field: Field) => T): T[] {
  const { value, textOf } = parse(bodyJson);
  const list = (value as Entry | null)?.[name];
  if (!Array.isArray(list)) throw validationError({ [name]: ["Must be a list"] });
  if (list.length > max) throw validationError({ [name]: [`At most ${max} entries`] });
  const errors: FieldErrors = {};
  const field = fieldReader(errors, name, textOf);
  const entries = list.map((entry: unknown, index) => {
    field.index = index;
    const isObject = typeof entry === "object" && entry !== null && !Array.isArray(entry);
    if (!isObject) errors[`${name}.${index}`] = ["Must be an object"];
    return read(isObject ? (entry as Entry) : {}, field);
  });
  for (const _ in errors) throw validationError(errors);
  return entries;
}

function parse(bodyJson: Uint8Array): ReturnType<typeof parseKeepingNumbers> {
  try {
    return parseKeepingNumbers(utf8.decode(bodyJson));
  } catch {
    throw validationError({}, ["Must be JSON"]);
  }
}

// What both JavaScript and PostgreSQL can hold; a clock that is wrong by centuries is still stored as it is.
const earliestMs = Date.UTC(1601, 0, 1);
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** Already as it is stored: most agents send it so. */
const plainTime = /^(?:1[6-9]|[2-9]\d)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const anyTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/i;

/** Reads one field after the other of the entry at `index`, and notes its errors. */
function fieldReader(errors: FieldErrors, name: string, textOf: (part: unknown) => string) {
  const note = (field: string, problem: string): string => {
    errors[`${name}.${reader.index}.${field}`] = [problem];
    return "";
  };
  const reader = {
    index: 0,
    time(field: string, value: unknown): string {
      if (typeof value !== "string") return note(field, "Required");
      const ms = anyTime.test(value) ? Date.parse(value) : Number.NaN;
      if (Number.isNaN(ms)) return note(field, "Must be an ISO 8601 time");
      if (ms < earliestMs || ms > latestMs) return note(field, "Must be between the years 1601 and 9999");
      // The 31st of February is parsed as the 3rd of March, and must not reach PostgreSQL as written.
      const day = Number(value.slice(8, 10));
      return day <= 28 && plainTime.test(value) ? value : new Date(ms).toISOString();
    },
    oneOf(field: string, value: unknown, allowed: readonly string[]): string {
      return allowed.includes(value as string)
        ? (value as string)
        : note(field, `Must be one of ${allowed.join(", ")}`);
    },
    text(field: string, value: unknown, min: number, max: number): string {
      if (typeof value !== "string" || value.length < min) return note(field, "Required");
      if (value.includes("\0")) return note(field, "Must not contain NUL characters");
      return longerThan(value, max) ? note(field, `At most ${max} characters`) : value;
    },
    /** Empty counts as absent. */
    optional(field: string, value: unknown, max: number): string | null {
      if (value === undefined || value === null || value === "") return null;
      return reader.text(field, value, 1, max);
    },
    object(field: string, value: unknown): string | null {
      if (value === undefined || value === null) return null;
      if (typeof value !== "object" || Array.isArray(value)) return note(field, "Must be an object");
      const json = textOf(value);
      if (json.length > maxObjectLength) return note(field, `At most ${maxObjectLength} characters of JSON`);
      // JSON's escape of U+0000, and halves of surrogate pairs, which jsonb does not accept.
      const bad = json.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(json);
      return bad ? note(field, "Must be well-formed Unicode without NUL") : json;
    },
  };
  return reader;
}
