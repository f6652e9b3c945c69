import { fieldsOf, hasFields } from "@muster/kit";
import type { ChainRow } from "./chain-row.ts";
import { renderRow } from "./export-line.ts";
import { ocsfEvent } from "./ocsf.ts";

export const formats = ["muster", "ocsf"] as const;
/** `muster`: rows as an export has them, which verify; `ocsf`: events of the Open Cybersecurity Schema Framework. */
export type StreamFormat = (typeof formats)[number];

export const envelopes = ["ndjson", "array", "splunk-hec", "elastic-bulk"] as const;
/** What surrounds the rows of a batch in a request to a sink. */
export type Envelope = (typeof envelopes)[number];

/** One row as JSON text, without a newline. */
export const rowText = (row: ChainRow, format: StreamFormat): string =>
  format === "muster" ? renderRow(row).trimEnd() : JSON.stringify(ocsfEvent(row));

/** Rows as lines, newlines included. */
export const rowLines = (rows: readonly ChainRow[], format: StreamFormat): Buffer =>
  Buffer.from(rows.map((row) => `${rowText(row, format)}\n`).join(""));

/** A batch as the sink takes it. */
export function sinkBody(
  rows: readonly ChainRow[],
  { format, envelope }: { format: StreamFormat; envelope: Envelope },
): { contentType: string; body: Buffer } {
  const json = "application/json";
  switch (envelope) {
    case "ndjson":
      return { contentType: "application/x-ndjson", body: rowLines(rows, format) };
    case "array":
      return { contentType: json, body: Buffer.from(`[${rows.map((row) => rowText(row, format)).join(",")}]`) };
    case "splunk-hec":
      return { contentType: json, body: Buffer.from(rows.map((row) => splunkEvent(row, format)).join("\n")) };
    case "elastic-bulk":
      return {
        contentType: "application/x-ndjson",
        body: Buffer.from(rows.map((row) => bulkPair(row, format)).join("")),
      };
    default:
      return envelope satisfies never;
  }
}

/** Splunk's HTTP Event Collector takes events one after another; its time is in seconds. */
function splunkEvent(row: ChainRow, format: StreamFormat): string {
  const ms = row.entry.timestamp.getTime();
  const facts = { ...(Number.isNaN(ms) ? {} : { time: ms / 1_000 }), source: "muster", sourcetype: `muster:${format}` };
  return `${JSON.stringify(facts).slice(0, -1)},"event":${rowText(row, format)}}`;
}

/**
 * `create` by the row's own id: a row that is sent again conflicts with itself and is not stored twice. A data stream
 * takes no document without `@timestamp`.
 */
function bulkPair(row: ChainRow, format: StreamFormat): string {
  const { id, timestamp } = row.entry;
  const ms = timestamp.getTime();
  const stamp = JSON.stringify({ "@timestamp": new Date(Number.isNaN(ms) ? 0 : ms) });
  return `${JSON.stringify({ create: { _id: id } })}\n${stamp.slice(0, -1)},${rowText(row, format).slice(1)}\n`;
}

/**
 * Why a sink did not take a batch although its status says so; null when it took every row. Elasticsearch answers 200
 * with an error for each document that it refused, Splunk with a code other than 0.
 */
export function refusalIn(envelope: Envelope, answer: Buffer): string | null {
  if (envelope === "splunk-hec") {
    const code = numberIn(jsonOf(answer), "code");
    return code === null || code === 0 ? null : `Splunk answered with code ${code}`;
  }
  return envelope === "elastic-bulk" ? bulkRefusal(answer) : null;
}

/** `"errors":false` stands at the front of an answer; the rest may be longer than what was kept of it. */
const withoutErrors = /^\s*\{[^[]*"errors"\s*:\s*false/;

function bulkRefusal(answer: Buffer): string | null {
  if (withoutErrors.test(answer.toString("utf8", 0, 1_024))) return null;
  const parsed = jsonOf(answer);
  if (parsed === null) return "The bulk answer is not complete JSON";
  if (parsed.errors === false) return null;
  const items: unknown[] = Array.isArray(parsed.items) ? parsed.items : [];
  // A conflict is a row that was stored before.
  const refused = items.map(createdIn).filter((item) => item !== null && item.status > 299 && item.status !== 409);
  if (items.length > 0 && refused.length === 0) return null;
  const [first] = refused;
  if (!first) return "The bulk answer names no documents";
  return `${refused.length} of ${items.length} documents were refused, the first with ${first.status} ${first.type}`;
}

function createdIn(item: unknown): { status: number; type: string } | null {
  const created = fieldsOf(fieldsOf(item).create);
  if (typeof created.status !== "number") return null;
  const { type } = fieldsOf(created.error);
  return { status: created.status, type: typeof type === "string" ? type.slice(0, 100) : "" };
}

function jsonOf(text: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text.toString());
    return hasFields(value) ? value : null;
  } catch {
    return null;
  }
}

function numberIn(record: Record<string, unknown> | null, name: string): number | null {
  const value = record?.[name];
  return typeof value === "number" ? value : null;
}

/** The beginning of an answer as text that a page can show. */
export const shownAnswer = (answer: Buffer): string => [...answer.toString("utf8", 0, 4_096)].slice(0, 1_000).join("");

/** An error with the beginning of what was answered, in one line. */
export function withAnswer(error: string, answer: string): string {
  const line = answer.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line === "" ? error : `${error}: ${[...line].slice(0, 200).join("")}`;
}
