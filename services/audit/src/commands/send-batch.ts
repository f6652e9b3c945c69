import { AppError, type RequestHeader, type SecretBox } from "@muster/kit";
import type { Archive } from "../clients/archive/archive.ts";
import type { Push, Pushed, Pushes } from "../clients/webhook-pushes.ts";
import type { ChainRow } from "../rules/chain-row.ts";
import { batchBody, batchEventType, batchId, batchKey } from "../rules/stream.ts";
import { refusalIn, rowLines, shownAnswer, sinkBody } from "../rules/stream-sink.ts";
import { sealedAt } from "../store/sealed-columns.ts";
import type { StreamRow } from "../store/streams.ts";

export type SendDeps = {
  box: SecretBox;
  pushes: Pick<Pushes, "push">;
  /** Null: streams to the archive are refused and not served. */
  archive: Pick<Archive, "put"> | null;
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
    return answered(stream, await deps.pushes.push(pushOf(deps, stream, rows)));
  } catch (thrown) {
    // The dispatcher had no slot: no failure of the receiver.
    if (thrown instanceof AppError && thrown.code === "overloaded") return { status: "unsent" };
    const error = thrown instanceof AppError ? publicText(thrown) : "The storage did not take it";
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
  };
  if (envelope === null) {
    const secret = opened(stream.secret_sealed, sealedAt.secret(streamId));
    const body = batchBody({ id, streamId, orgId, previousSeq, rows, format });
    return { ...shared, secret, headers: [], contentType: "", body };
  }
  const headers: RequestHeader[] = JSON.parse(opened(stream.headers_sealed, sealedAt.headers(streamId)));
  return { ...shared, secret: "", headers, ...sinkBody(rows, { format, envelope }) };
}

function answered({ envelope }: StreamRow, { status, error, body }: Pushed): Sent {
  const answer = { httpStatus: status, answer: shownAnswer(body) };
  const refusal = error ?? (envelope === null ? null : refusalIn(envelope, body));
  if (refusal === null) return { status: "taken", ...answer };
  return { status: "refused", error: refusal, isDoubtful: status === null, isGone: status === 410, ...answer };
}

const publicText = ({ code, message, facts }: AppError) =>
  code === "invalid_webhook_url" ? `Unsafe webhook URL: ${String(facts.reason)}` : message;
