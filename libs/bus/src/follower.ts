import type { Msg, StoredMsg, StreamInfo } from "nats";
import type { Connection } from "./connection.ts";
import { describe, isMissing } from "./errors.ts";
import { storedSubject } from "./streams.ts";
import { msgIdHeader, traceHeader } from "./transport.ts";
import type { BusMessage, Follower, FollowHandlers, FollowOptions } from "./types.ts";
import { startWatch } from "./watch.ts";

/** Longest time until a stored message is noticed when its repetition was lost between two servers. */
const checkEveryMs = 5_000;

/** The last message handled, or the end of the stream when following began (`last` null). */
type Position = {
  created: string;
  seq: number;
  lastTs: string;
  last: { subject: string; msgId: string } | null;
  /** Of the connection in which this was true: within it, no stream is replaced by an older copy. */
  epoch: number;
};

/**
 * Reads a stream from now on, in order, without a consumer: the server repeats each message that it has stored, with
 * its position; what is missing is read from the stream. Reports a gap when it cannot prove that nothing was missed.
 */
export function startFollower(connection: Connection, options: FollowOptions, handlers: FollowHandlers): Follower {
  const { jsm, nc, log } = connection;
  const { stream, filterSubject } = options;
  let position: Position | null = null;
  /** The highest position that was repeated since the last check began. */
  let repeated = 0;
  let isStopped = false;

  /**
   * Whether everything after the position is still in the stream, and the message at the position is still the same.
   */
  const isContinuous = async (info: StreamInfo, epoch: number): Promise<boolean> => {
    if (!position || position.created !== info.created || position.seq > info.state.last_seq) return false;
    if (position.epoch === epoch) return true;
    if (!position.last) return position.seq === info.state.last_seq && position.lastTs === info.state.last_ts;
    try {
      const stored = await jsm.streams.getMessage(stream, { seq: position.seq });
      return stored.subject === position.last.subject && stored.header.get(msgIdHeader) === position.last.msgId;
    } catch (error) {
      if (isMissing(error, "message")) return false;
      throw error;
    }
  };

  /** A handler that throws has not processed its call: that is a gap. None is called after the stop. */
  const handle = (call: () => void) => {
    if (isStopped) return;
    try {
      call();
    } catch (error) {
      position = null;
      throw error;
    }
  };

  /** Hands over a message that follows the position; one that was handled meanwhile is left out. */
  const take = (message: BusMessage) => {
    if (!position || message.streamSeq <= position.seq) return;
    const { subject, msgId, streamSeq: seq } = message;
    position = { ...position, seq, last: { subject, msgId } };
    handle(() => handlers.onMessage(message));
  };

  const catchUp = async (end: number) => {
    while (position && position.seq < end) {
      const query = { seq: position.seq + 1, next_by_subj: filterSubject };
      try {
        take(toRead(await jsm.streams.getMessage(stream, query)));
      } catch (error) {
        if (isMissing(error, "message")) return;
        throw error;
      }
    }
  };

  const check = async () => {
    repeated = 0;
    const epoch = connection.epoch();
    const info = await jsm.streams.info(stream);
    if (await isContinuous(info, epoch)) {
      if (position) position = { ...position, epoch };
    } else {
      const { last_seq: seq, last_ts: lastTs } = info.state;
      position = { created: info.created, seq, lastTs, last: null, epoch };
      handle(handlers.onGap);
    }
    // A message may have been repeated after the stream's answer, and before there was a position to compare it with.
    await catchUp(Math.max(info.state.last_seq, repeated));
  };

  const watch = startWatch(connection, `follower of ${stream}`, checkEveryMs, check);
  const onRepeated = (message: Msg) => {
    const read = toBusMessage(message);
    repeated = Math.max(repeated, read.streamSeq);
    if (position?.epoch !== connection.epoch() || read.streamSeq !== position.seq + 1) return watch.now();
    try {
      take(read);
    } catch (error) {
      log.warn({ stream, reason: describe(error) }, "message of a followed stream failed");
      watch.now();
    }
  };
  const subscription = nc.subscribe(storedSubject(filterSubject), {
    // A refused subscription is reported by the connection.
    callback: (error, message) => void (error || onRepeated(message)),
  });

  return {
    async stop() {
      isStopped = true;
      watch.stop();
      if (!nc.isClosed()) subscription.unsubscribe();
    },
  };
}

/** A repeated message: the server puts subject and position of the stored one into its headers. */
function toBusMessage({ headers, data }: Msg): BusMessage {
  return {
    subject: headers?.get("Nats-Subject") ?? "",
    msgId: headers?.get(msgIdHeader) ?? "",
    body: data,
    streamSeq: Number(headers?.get("Nats-Sequence") ?? 0),
    deliveries: 1,
    traceparent: headers?.get(traceHeader) || null,
  };
}

function toRead({ subject, seq, header, data }: StoredMsg): BusMessage {
  return {
    subject,
    msgId: header?.get(msgIdHeader) ?? "",
    body: data,
    streamSeq: seq,
    deliveries: 1,
    traceparent: header?.get(traceHeader) || null,
  };
}
