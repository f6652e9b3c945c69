import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { AppError, type RequestHeader, type SecretBox } from "@muster/kit";
import type { Archive } from "../clients/archive/archive.ts";
import { putIntoBucket } from "../clients/bucket.ts";
import type { Roles } from "../clients/role-credentials.ts";
import type { Push, Pushed, Pushes, SyslogPush } from "../clients/webhook-pushes.ts";
import type { Credentials } from "../rules/assume-role.ts";
import { objectKey } from "../rules/bucket.ts";
import type { ChainRow } from "../rules/chain-row.ts";
import { batchBody, batchEventType, batchId, batchKey } from "../rules/stream.ts";
import { refusalIn, rowLines, shownAnswer, sinkBody, withAnswer } from "../rules/stream-sink.ts";
import { syslogFrames } from "../rules/syslog.ts";
import { sealedAt } from "../store/sealed-columns.ts";
import type { StreamRow } from "../store/streams.ts";

const compress = promisify(gzip);

export type SendDeps = {
  box: SecretBox;
  pushes: Pick<Pushes, "push" | "pushSyslog">;
  /** Name of the deployment: the host of syslog messages. */
  deployment: string;
  /** Null: streams to the archive are refused and not served. */
  archive: Pick<Archive, "put"> | null;
  /** Null: buckets by a role are not served. */
  roles: Roles | null;
};

/** The answer of the receiver; of the archive there is none. */
type Answer = { httpStatus: number | null; answer: string };
export type Sent =
  | ({ status: "taken" } & Answer)
  /** Nothing was sent, and nothing has failed. */
  | { status: "unsent" }
  | ({ status: "refused"; error: string; isDoubtful: boolean; isGone: boolean } & Answer);

const noAnswer: Answer = { httpStatus: null, answer: "" };

/** Sends rows of a stream to where it leads, once. Never throws. */
export async function sendBatch(deps: SendDeps, stream: StreamRow, rows: readonly ChainRow[]): Promise<Sent> {
  try {
    if (stream.type === "archive") return await store(deps, stream, rows);
    if (stream.type === "s3") return answered(stream, await storeInBucket(deps, stream, rows));
    if (stream.type === "syslog") return answered(stream, await deps.pushes.pushSyslog(syslogOf(deps, stream, rows)));
    return answered(stream, await deps.pushes.push(pushOf(deps, stream, rows)));
  } catch (thrown) {
    // The dispatcher had no slot: no failure of the receiver.
    if (thrown instanceof AppError && thrown.code === "overloaded") return { status: "unsent" };
    const error = thrown instanceof AppError ? publicText(thrown) : storageText(thrown);
    // The outcome of an interrupted call is unknown.
    const isDoubtful = thrown instanceof AppError && ["deadline_exceeded", "unavailable"].includes(thrown.code);
    return { status: "refused", error, isDoubtful, isGone: false, ...noAnswer };
  }
}

async function store({ archive }: SendDeps, stream: StreamRow, rows: readonly ChainRow[]): Promise<Sent> {
  if (!archive) throw new Error("No storage is configured for streams");
  const key = batchKey(stream.org_id, stream.id, rows);
  await archive.put(key, rowLines(rows, stream.format), { contentType: "application/x-ndjson" });
  return { status: "taken", ...noAnswer };
}

/** An object of gzipped lines in the customer's bucket, by the hour of its rows. */
async function storeInBucket(deps: SendDeps, stream: StreamRow, rows: readonly ChainRow[]): Promise<Pushed> {
  const { id, bucket, ca, partner_id: partnerId } = stream;
  if (!bucket) throw new Error("a stream of type s3 has no bucket");
  const attempt = stream.failures + 1;
  const shared = {
    ...{ id: batchId(id, rows), type: batchEventType, partnerId, secret: "", attempt },
    possibleDuplicate: stream.is_doubtful,
    sinkType: "s3" as const,
  };
  const credentials = await credentialsOf(deps, stream, shared);
  if ("status" in credentials) return credentials;
  const body = await compress(rowLines(rows, stream.format));
  return putIntoBucket(bucket, credentials, objectKey(rows), body, (request) =>
    deps.pushes.push({ ...request, ...shared, contentType: "", ca: ca ?? "" }),
  );
}

type SharedPush = Omit<Push, "url" | "headers" | "contentType" | "body" | "ca" | "method">;

/** The bucket's access key, or what its role grants; else what came of the request for it. */
async function credentialsOf(deps: SendDeps, stream: StreamRow, shared: SharedPush): Promise<Credentials | Pushed> {
  const { id, bucket, bucket_secret_sealed: sealed, org_id: externalId } = stream;
  if (bucket && sealed) {
    const secretAccessKey = deps.box.open(sealed, sealedAt.bucketSecret(id)).toString();
    return { accessKeyId: bucket.accessKeyId, secretAccessKey };
  }
  const { region = "", roleArn = "" } = bucket ?? {};
  const noRoles = { status: null, error: "The operator has not enabled access by role", body: Buffer.alloc(0) };
  if (!deps.roles) return noRoles;
  return deps.roles.of({ roleArn, region, externalId }, (request) =>
    deps.pushes.push({ ...request, ...shared, ca: "", method: "POST" }),
  );
}

function syslogOf({ box, deployment }: SendDeps, stream: StreamRow, rows: readonly ChainRow[]): SyslogPush {
  const { id, partner_id: partnerId, url_sealed: sealed, ca, format } = stream;
  if (!sealed) throw new Error("a stream of type syslog has no address");
  const url = box.open(sealed, sealedAt.url(id)).toString();
  return { partnerId, url, ca: ca ?? "", frames: syslogFrames(rows, format, deployment) };
}

function pushOf({ box }: SendDeps, stream: StreamRow, rows: readonly ChainRow[]): Push {
  const { id: streamId, org_id: orgId, format, envelope, cursor_seq: previousSeq } = stream;
  const opened = (sealed: Buffer | null, location: string) => (sealed ? box.open(sealed, location).toString() : "");
  const id = batchId(streamId, rows);
  const shared = {
    id,
    type: batchEventType,
    partnerId: stream.partner_id,
    url: opened(stream.url_sealed, sealedAt.url(streamId)),
    attempt: stream.failures + 1,
    possibleDuplicate: stream.is_doubtful,
    ca: stream.ca ?? "",
    method: "POST" as const,
    sinkType: stream.type === "https" ? ("https" as const) : ("" as const),
  };
  if (envelope === null) {
    const secret = opened(stream.secret_sealed, sealedAt.secret(streamId));
    const body = batchBody({ id, streamId, orgId, previousSeq, rows, format });
    return { ...shared, secret, headers: [], contentType: "", body };
  }
  const headers: RequestHeader[] = JSON.parse(opened(stream.headers_sealed, sealedAt.headers(streamId)));
  return { ...shared, secret: "", headers, ...sinkBody(rows, { format, envelope }) };
}

function answered({ envelope, bucket }: StreamRow, { status, error, body }: Pushed): Sent {
  const answer = { httpStatus: status, answer: shownAnswer(body) };
  const isSink = envelope !== null || bucket !== null;
  const said = error === null || !isSink ? error : withAnswer(error, answer.answer);
  const refusal = said ?? (envelope === null ? null : refusalIn(envelope, body));
  if (refusal === null) return { status: "taken", ...answer };
  return { status: "refused", error: refusal, isDoubtful: status === null, isGone: status === 410, ...answer };
}

/** Codes of the file system alone: other texts may name what only the operator knows. */
function storageText(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return `The storage did not take it${/^E[A-Z]{2,20}$/.test(code) ? ` (${code})` : ""}`;
}

const publicText = ({ code, message, facts }: AppError) =>
  code === "invalid_webhook_url" ? `Unsafe webhook URL: ${String(facts.reason)}` : message;
