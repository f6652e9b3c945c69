import { validationError } from "@muster/kit";
import type { InstrumentationScope } from "@muster/proto/opentelemetry/proto/common/v1/common_pb";
import { type LogRecord, SeverityNumber } from "@muster/proto/opentelemetry/proto/logs/v1/logs_pb";
import type { Resource } from "@muster/proto/opentelemetry/proto/resource/v1/resource_pb";
import type { AgentLogEntry } from "./entries.ts";
import { FieldReader, maxMessageLength, maxObjectLength } from "./field-reader.ts";
import type { OtlpRequest } from "./otlp-request.ts";
import { attributesJson, type TextOf, textsOf, valueText } from "./otlp-values.ts";

/**
 * Records as entries, and how many were refused; `firstError` says why, of the first of them. `characters` are those of
 * all messages and fields.
 */
export type OtlpEntries = { entries: AgentLogEntry[]; refused: number; firstError: string; characters: number };

/** A resource is stored with each of its records: few bytes may become many. */
export const maxCharacters = 16 * 1024 * 1024;

/** Of records that name no service and no scope. */
const noComponent = "otlp";

/**
 * The records of a request as entries: `component` is the resource's `service.name`, else the scope's name; `message`
 * is the body; everything else is in `fields`. A record without any time has that of its arrival. Throws
 * `validation_failed` for more than 16 Mi characters in all.
 */
export function otlpEntries({ request, replaced }: OtlpRequest, arrival: Date): OtlpEntries {
  const textOf = textsOf(replaced);
  const made: OtlpEntries = { entries: [], refused: 0, firstError: "", characters: 0 };
  for (const { resource, scopeLogs } of request.resourceLogs) {
    const service = valueText(resource?.attributes.find(({ key }) => key === "service.name")?.value, textOf);
    for (const { scope, logRecords } of scopeLogs) {
      const component = service || textOf(scope?.name ?? "") || noComponent;
      const origin = originJson(resource, scope, textOf);
      for (const record of logRecords) add(made, entryOf(record, { component, origin, arrival, textOf }));
    }
  }
  return made;
}

type Entry = { entry: AgentLogEntry; problem: string | null };
type Context = { component: string; origin: readonly string[]; arrival: Date; textOf: TextOf };

function add(made: OtlpEntries, { entry, problem }: Entry): void {
  made.characters += entry.message.length + (entry.fieldsJson?.length ?? 0);
  if (made.characters > maxCharacters) {
    throw validationError({
      resourceLogs: [`At most ${maxCharacters} characters, attributes of resources in each record`],
    });
  }
  if (problem === null) made.entries.push(entry);
  else if (made.refused++ === 0) made.firstError = `record ${made.entries.length}: ${problem}`;
}

function entryOf(record: LogRecord, { component, origin, arrival, textOf }: Context): Entry {
  const field = new FieldReader(JSON.stringify);
  const fieldsJson = fieldsJsonOf(record, origin, textOf);
  if (fieldsJson !== null && fieldsJson.length > maxObjectLength) {
    field.note("attributes", `At most ${maxObjectLength} characters of JSON, with those of resource and scope`);
  }
  const entry = {
    timestamp: timeOf(record, arrival).toISOString(),
    level: levelOf(record),
    component: field.text("service.name", component, 1, 100),
    message: field.text("body", valueText(record.body, textOf) || textOf(record.eventName), 0, maxMessageLength),
    fieldsJson,
    agentVersion: null,
  };
  const [first] = Object.entries(field.errors ?? {});
  return { entry, problem: first === undefined ? null : `${first[0]}: ${first[1].join(", ")}` };
}

function timeOf({ timeUnixNano, observedTimeUnixNano }: LogRecord, arrival: Date): Date {
  const nanoseconds = timeUnixNano || observedTimeUnixNano;
  return nanoseconds === 0n ? arrival : new Date(Number(nanoseconds / 1_000_000n));
}

/** The last of each level's numbers; trace counts as debug, fatal as error. */
const levels = [
  [SeverityNumber.DEBUG4, "debug"],
  [SeverityNumber.INFO4, "info"],
  [SeverityNumber.WARN4, "warn"],
] as const;

function levelOf({ severityNumber, severityText }: LogRecord): string {
  if (severityNumber === SeverityNumber.UNSPECIFIED) return levelOfText(severityText.toLowerCase());
  return levels.find(([last]) => severityNumber <= last)?.[1] ?? "error";
}

function levelOfText(text: string): string {
  if (/^(?:trace|debug)/.test(text)) return "debug";
  if (text.startsWith("warn")) return "warn";
  return /^(?:err|crit|fatal|alert|emerg|panic)/.test(text) ? "error" : "info";
}

/** Members of `fields` that all records of a scope have. */
function originJson(resource: Resource | undefined, scope: InstrumentationScope | undefined, textOf: TextOf): string[] {
  const members: string[] = [];
  if (resource && resource.attributes.length > 0) {
    members.push(`"resource":${attributesJson(resource.attributes, textOf)}`);
  }
  if (!scope || (scope.name === "" && scope.attributes.length === 0)) return members;
  const named = { name: textOf(scope.name), version: textOf(scope.version) };
  const attributes = scope.attributes.length === 0 ? "" : `,"attributes":${attributesJson(scope.attributes, textOf)}`;
  return [...members, `"scope":${JSON.stringify(named).slice(0, -1)}${attributes}}`];
}

function fieldsJsonOf(record: LogRecord, origin: readonly string[], textOf: TextOf): string | null {
  const members: string[] = [];
  if (record.attributes.length > 0) members.push(`"attributes":${attributesJson(record.attributes, textOf)}`);
  if (record.severityText !== "") members.push(`"severityText":${JSON.stringify(textOf(record.severityText))}`);
  if (record.eventName !== "") members.push(`"eventName":${JSON.stringify(textOf(record.eventName))}`);
  if (isId(record.traceId, 16)) members.push(`"traceId":"${Buffer.from(record.traceId).toString("hex")}"`);
  if (isId(record.spanId, 8)) members.push(`"spanId":"${Buffer.from(record.spanId).toString("hex")}"`);
  const all = [...members, ...origin];
  return all.length === 0 ? null : `{${all.join(",")}}`;
}

/** An id of another length, or of zeros alone, stands for none. */
const isId = (id: Uint8Array, length: number) => id.length === length && id.some((byte) => byte !== 0);
