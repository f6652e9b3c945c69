import { AppError, endSpan, SpanKind, startFollowing, traceparentOf } from "@muster/kit";
import { headers } from "nats";
import { assertConnected, type Connection } from "./connection.ts";
import { busError, isMissing } from "./errors.ts";
import type { OutgoingMessage, Promised, Transport } from "./types.ts";

export const traceHeader = "traceparent";
export const msgIdHeader = "Nats-Msg-Id";

const publishTimeoutMs = 5_000;

type StreamState = { epoch: number; created: Promise<string>; highestSeq: number };

/**
 * Publishes to streams and reads promises back; every failure is an AppError and nothing is buffered while
 * disconnected.
 */
export function createTransport(connection: Connection): Transport {
  const { js, jsm } = connection;
  const streams = new Map<string, StreamState>();

  const readCreated = async (stream: string): Promise<string> =>
    (await connection.untilLost(jsm.streams.info(stream))).created;

  /** The stream's creation time, read once per connection and again when its sequence went backwards. */
  const createdOf = async (stream: string, seq: number, duplicate: boolean): Promise<string> => {
    const epoch = connection.epoch();
    let entry = streams.get(stream);
    if (!entry || entry.epoch !== epoch || (!duplicate && seq <= entry.highestSeq)) {
      entry = { epoch, created: readCreated(stream), highestSeq: 0 };
      streams.set(stream, entry);
    }
    if (!duplicate) entry.highestSeq = Math.max(entry.highestSeq, seq);
    try {
      return await entry.created;
    } catch (error) {
      if (streams.get(stream) === entry) streams.delete(stream);
      throw error;
    }
  };

  return {
    async publish(message: OutgoingMessage): Promise<Promised> {
      assertConnected(connection);
      const epoch = connection.epoch();
      const head = headers();
      head.set(msgIdHeader, message.msgId);
      const span = startFollowing(
        `publish ${message.subject.split(".")[0]}`,
        SpanKind.PRODUCER,
        messaging(message),
        message.traceparent ?? null,
      );
      const traceparent = span ? traceparentOf(span) : message.traceparent;
      if (traceparent) head.set(traceHeader, traceparent);
      let outcome = "unavailable";
      try {
        const publishing = js.publish(message.subject, message.body, { headers: head, timeout: publishTimeoutMs });
        const ack = await connection.untilLost(publishing);
        const created = await createdOf(ack.stream, ack.seq, ack.duplicate);
        // The acknowledgement came from the server of before, the creation time perhaps from another: no promise.
        if (connection.epoch() !== epoch) throw new AppError("unavailable", "NATS was reconnected meanwhile");
        outcome = "ok";
        return { stream: ack.stream, created, seq: ack.seq };
      } catch (error) {
        throw busError(`publishing to ${message.subject}`, error);
      } finally {
        if (span) endSpan(span, outcome);
      }
    },

    async lookup(stream, seq) {
      assertConnected(connection);
      try {
        const created = await readCreated(stream);
        try {
          // From the leader, not DIRECT.GET: a replica that lags would report a loss that is none.
          const stored = await connection.untilLost(jsm.streams.getMessage(stream, { seq }));
          return { created, msgId: stored.header.get(msgIdHeader) || null };
        } catch (error) {
          if (isMissing(error, "message")) return { created, msgId: null };
          throw error;
        }
      } catch (error) {
        throw busError(`reading back ${stream} ${seq}`, error);
      }
    },

    onReconnect: (listener) => void connection.onReconnect(listener),
  };
}

/**
 * Only the first token of the subject: the rest names the organization, and everyone who may see traces sees
 * attributes.
 */
function messaging({ subject, msgId }: OutgoingMessage) {
  return {
    "messaging.system": "nats",
    "messaging.operation.type": "send",
    "messaging.operation.name": "publish",
    "messaging.destination.name": subject.split(".")[0] ?? "",
    "messaging.message.id": msgId,
  };
}

/** Bodies of the messages kept of a subject, oldest first, at most `most`. */
export async function keptMessages(
  connection: Connection,
  stream: string,
  subject: string,
  most: number,
): Promise<Uint8Array[]> {
  assertConnected(connection);
  const bodies: Uint8Array[] = [];
  try {
    for (let seq = 1; bodies.length < most; ) {
      const query = { seq, next_by_subj: subject };
      const stored = await connection.untilLost(connection.jsm.streams.getMessage(stream, query));
      bodies.push(stored.data);
      seq = stored.seq + 1;
    }
    return bodies;
  } catch (error) {
    if (isMissing(error, "message")) return bodies;
    throw busError(`reading the messages of ${subject}`, error);
  }
}

/** Body of the newest message kept of a subject; null when there is none. */
export async function newestMessage(
  connection: Connection,
  stream: string,
  subject: string,
): Promise<Uint8Array | null> {
  assertConnected(connection);
  try {
    const query = { last_by_subj: subject };
    return (await connection.untilLost(connection.jsm.streams.getMessage(stream, query))).data;
  } catch (error) {
    if (isMissing(error, "message")) return null;
    throw busError(`reading the newest message of ${subject}`, error);
  }
}
