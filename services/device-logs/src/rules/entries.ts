import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { type FieldErrors, validationError } from "@muster/kit";
import type { AgentLog, DeviceEvent } from "@muster/proto/muster/devicelogs/v1/log_pb";

/** Entries of one request (interface, "Limits"; 01-conventions, "Agent logs"). */
export const maxAgentLogs = 500;
export const maxEvents = 1_000;

export const agentLogLevels = ["debug", "info", "warn", "error"] as const;
export const eventLevels = ["info", "warning", "error", "critical"] as const;
export const eventCategories = ["security", "hardware", "application", "system"] as const;

/** Characters of a message, and of the JSON text of `fields` and `details`. */
export const maxMessageLength = 65_536;
export const maxObjectLength = 65_536;

// What both JavaScript and PostgreSQL can hold; a clock that is wrong by centuries is still stored as it is.
const earliestMs = Date.UTC(1601, 0, 1);
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Throws `validation_failed` that names the index and the field of each bad entry. */
export function checkAgentLogs(logs: readonly AgentLog[]): void {
  const errors = listErrors("logs", logs.length, maxAgentLogs);
  logs.forEach((log, index) => {
    const at = (field: string, problem: string | null) => note(errors, `logs.${index}.${field}`, problem);
    at("timestamp", timeProblem(log.timestamp));
    at("level", oneOf(agentLogLevels, log.level));
    at("component", textProblem(log.component, 1, 100));
    at("message", textProblem(log.message, 0, maxMessageLength));
    at("fields", objectProblem(log.fieldsJson));
    at("agentVersion", textProblem(log.agentVersion, 0, 50));
  });
  refuse(errors);
}

/** As checkAgentLogs, for events. */
export function checkEvents(events: readonly DeviceEvent[]): void {
  const errors = listErrors("events", events.length, maxEvents);
  events.forEach((event, index) => {
    const at = (field: string, problem: string | null) => note(errors, `events.${index}.${field}`, problem);
    at("timestamp", timeProblem(event.timestamp));
    at("level", oneOf(eventLevels, event.level));
    at("category", oneOf(eventCategories, event.category));
    at("source", textProblem(event.source, 1, 255));
    at("eventId", textProblem(event.eventId, 0, 100));
    at("message", textProblem(event.message, 0, maxMessageLength));
    at("details", objectProblem(event.detailsJson));
  });
  refuse(errors);
}

function listErrors(name: string, length: number, max: number): FieldErrors {
  return length > max ? { [name]: [`At most ${max} entries`] } : {};
}

function note(errors: FieldErrors, path: string, problem: string | null): void {
  if (problem !== null) errors[path] = [problem];
}

function refuse(errors: FieldErrors): void {
  if (Object.keys(errors).length > 0) throw validationError(errors);
}

function timeProblem(timestamp: Timestamp | undefined): string | null {
  if (!timestamp) return "Required";
  const ms = timestampDate(timestamp).getTime();
  return ms >= earliestMs && ms <= latestMs ? null : "Must be between the years 1601 and 9999";
}

function oneOf(known: readonly string[], value: string): string | null {
  return known.includes(value) ? null : `Must be one of ${known.join(", ")}`;
}

function textProblem(text: string, min: number, max: number): string | null {
  if (text.includes("\0")) return "Must not contain NUL characters";
  if (text.length < min) return "Required";
  // Code units first: counting characters costs, and nearly all texts are far below their bound.
  return text.length > max && [...text].length > max ? `At most ${max} characters` : null;
}

function objectProblem(json: string): string | null {
  if (json === "") return null;
  if (json.length > maxObjectLength) return `At most ${maxObjectLength} characters of JSON`;
  // JSON's own form of U+0000, which jsonb does not take.
  if (json.includes("\\u0000")) return "Must not contain NUL characters";
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? null : "Must be an object";
  } catch {
    return "Must be an object";
  }
}
