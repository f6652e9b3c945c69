import { createHash } from "node:crypto";
import {
  AppError,
  type Counts,
  type FieldErrors,
  nameError,
  type RequestHeader,
  requestHeaderErrors,
  shareIn,
  signingSecretError,
  validationError,
} from "@muster/kit";
import { type Bucket, bucketErrors, hourOf } from "./bucket.ts";
import { caError } from "./ca.ts";
import type { ChainRow } from "./chain-row.ts";
import { renderRow } from "./export-line.ts";
import { type Envelope, envelopes, formats, rowText, type StreamFormat } from "./stream-sink.ts";

export const streamTypes = ["webhook", "archive", "https", "s3", "syslog"] as const;
export type StreamType = (typeof streamTypes)[number];
export type StreamStatus = "active" | "paused" | "failed";

export type StreamInput = {
  name: string;
  type: string;
  url: string;
  secret: string;
  format: string;
  envelope: string;
  headers: readonly RequestHeader[];
  bucket: (Bucket & { secretAccessKey: string }) | null;
  /** PEM; empty: none. */
  ca: string;
};
export type StreamFields = {
  name: string;
  type: StreamType;
  url: string;
  secret: string;
  format: StreamFormat;
  /** Of type https alone. */
  envelope: Envelope | null;
  headers: RequestHeader[];
  /** Of type s3 alone. */
  bucket: (Bucket & { secretAccessKey: string }) | null;
  ca: string | null;
};

/** What a batch holds at most. */
export const batchRows = 100;
const batchBytes = 262_144;

/** The fields of a new stream. Throws `validation_failed` naming each bad field; the URL is validated elsewhere. */
export function newStream(input: StreamInput, has: { archive: boolean; roles: boolean }): StreamFields {
  const errors: FieldErrors = { ...requestHeaderErrors(input.headers), ...sinkErrors(input, has.roles) };
  const name = input.name.trim();
  const nameProblem = nameError(name);
  if (nameProblem) errors.name = [nameProblem];
  const type = streamTypes.find((allowed) => allowed === input.type);
  if (!type) errors.type = [`One of ${streamTypes.join(", ")}`];
  if (type === "archive" && !has.archive) errors.type = ["No storage is configured for streams"];
  const hasUrl = type === "webhook" || type === "https" || type === "syslog";
  if (type && !hasUrl && input.url !== "") errors.url = ["Only for a webhook, https or syslog"];
  if (hasUrl && input.url === "") errors.url = ["Required"];
  if (type !== "webhook" && input.secret !== "") errors.secret = ["Only for a webhook"];
  const secretError = signingSecretError(input.secret);
  if (secretError) errors.secret = [secretError];
  const format = formats.find((allowed) => allowed === (input.format || "muster"));
  if (!format) errors.format = [`One of ${formats.join(", ")}`];
  const envelope = envelopes.find((allowed) => allowed === (input.envelope || "ndjson"));
  if (!envelope) errors.envelope = [`One of ${envelopes.join(", ")}`];
  if (type !== "https" && input.envelope !== "") errors.envelope = ["Only for https"];
  if (type !== "https" && input.headers.length > 0) errors.headers = ["Only for https"];
  if (Object.keys(errors).length > 0 || !type || !format || !envelope) throw validationError(errors);
  const headers = input.headers.map(({ key, value }) => ({ key, value: value.trim() }));
  return {
    name,
    type,
    url: input.url,
    secret: input.secret,
    format,
    envelope: type === "https" ? envelope : null,
    headers,
    bucket: input.bucket,
    ca: input.ca || null,
  };
}

/** What is wrong with the fields of some types of sinks. */
function sinkErrors({ type, url, bucket, ca }: StreamInput, hasRoles: boolean): FieldErrors {
  const errors: FieldErrors = {};
  if (type === "s3" && !bucket) errors.s3 = ["Required"];
  if (type !== "s3" && bucket) errors.s3 = ["Only for s3"];
  if (type === "s3" && bucket) Object.assign(errors, bucketErrors(bucket, hasRoles));
  if (type === "syslog" && url !== "" && !/^tls:\/\/[^/?#@\s]+:\d{1,5}$/.test(url)) errors.url = ["tls://host:port"];
  if (ca !== "" && !["https", "s3", "syslog"].includes(type)) errors.ca = ["Only for https, s3 or syslog"];
  else if (ca !== "" && caError(ca)) errors.ca = [caError(ca) ?? ""];
  return errors;
}

/** The state in a request. Throws `no_updates`, `validation_failed`. */
export function wantedStatus(text: string): "active" | "paused" {
  if (text === "") throw new AppError("no_updates", "No updates provided");
  if (text !== "active" && text !== "paused") throw validationError({ status: ["One of active, paused"] });
  return text;
}

/**
 * The first rows that make a batch: at least one, then as many as its bytes allow; for a bucket those of one hour.
 */
export function takeBatch(rows: readonly ChainRow[], type: StreamType = "webhook"): ChainRow[] {
  let bytes = 0;
  const hour = hourOf(rows[0]?.entry.timestamp);
  const end = rows.findIndex((row, index) => {
    bytes += Buffer.byteLength(renderRow(row));
    return index > 0 && (bytes > batchBytes || (type === "s3" && hourOf(row.entry.timestamp) !== hour));
  });
  return rows.slice(0, end === -1 ? rows.length : end);
}

/** UUIDv5 of stream and rows: a batch that is sent again has the id that it had. */
export function batchId(streamId: string, rows: readonly ChainRow[]): string {
  const digest = createHash("sha1")
    .update(`${streamId}/${rows[0]?.seq}/${rows.at(-1)?.seq}`)
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString("hex", 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const batchEventType = "audit.rows";

type Batch = {
  id: string;
  streamId: string;
  orgId: string;
  previousSeq: number;
  rows: readonly ChainRow[];
  format: StreamFormat;
};

/**
 * The body of a webhook's batch: the envelope of deliveries, with rows as an export has them, so that receivers can
 * verify the chain, or as events of OCSF.
 */
export function batchBody({ id, streamId, orgId, previousSeq, rows, format }: Batch): Buffer {
  const head = JSON.stringify({ id, type: batchEventType, timestamp: rows.at(-1)?.entry.timestamp, orgId });
  const facts = JSON.stringify({ streamId, previousSeq, firstSeq: rows[0]?.seq, lastSeq: rows.at(-1)?.seq });
  const lines = rows.map((row) => rowText(row, format)).join(",");
  return Buffer.from(`${head.slice(0, -1)},"data":${facts.slice(0, -1)},"rows":[${lines}]}}`);
}

/** Where a batch lies in the archive: names sort as the chain does. */
export function batchKey(orgId: string, streamId: string, rows: readonly ChainRow[]): string {
  const padded = (seq: number | undefined) => String(seq ?? 0).padStart(16, "0");
  return `streams/${orgId}/${streamId}/${padded(rows[0]?.seq)}-${padded(rows.at(-1)?.seq)}.jsonl`;
}

/**
 * Partners that hold their fair share of the slots (docs/concepts.md#fair-share) and get no further one, so that the
 * streams of a partner with many organizations wait for one another.
 */
export const partnersAtShare = (slots: number, held: Counts): string[] =>
  [...held.keys()].filter((partnerId) => held.of(partnerId) >= shareIn(held, partnerId, slots));

/** Milliseconds until the next attempt after this number of failures: 1 s, doubled up to 5 min. */
export function streamDelayMs(failures: number): number {
  return Math.min(1_000 * 2 ** Math.min(failures - 1, 20), 300_000);
}
