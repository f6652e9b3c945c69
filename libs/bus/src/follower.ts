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
  return new StreamFollower(connection, options, handlers);
}

class StreamFollower implements Follower {
  readonly #handlers: FollowHandlers;
  readonly #connection: Connection;
  readonly #jsm: Connection["jsm"];
  readonly #nc: Connection["nc"];
  readonly #log: Connection["log"];
  readonly #stream: FollowOptions["stream"];
  readonly #filterSubject: FollowOptions["filterSubject"];
  #position: Position | null = null;
  /** The highest position that was repeated since the last check began. */
  #repeated = 0;
  #isStopped = false;
  readonly #watch: ReturnType<typeof startWatch>;
  readonly #subscription;

  constructor(connection: Connection, options: FollowOptions, handlers: FollowHandlers) {
    this.#handlers = handlers;
    this.#connection = connection;
    const { jsm, nc, log } = connection;
    this.#jsm = jsm;
    this.#nc = nc;
    this.#log = log;
    const { stream, filterSubject } = options;
    this.#stream = stream;
    this.#filterSubject = filterSubject;
    this.#watch = startWatch(connection, `follower of ${this.#stream}`, checkEveryMs, this.#check);
    this.#subscription = this.#nc.subscribe(storedSubject(this.#filterSubject), {
      // A refused subscription is reported by the connection.
      callback: (error, message) => void (error || this.#onRepeated(message)),
    });
  }

  /**
   * Whether everything after the position is still in the stream, and the message at the position is still the same.
   */
  async #isContinuous(info: StreamInfo, epoch: number): Promise<boolean> {
    if (!this.#position || this.#position.created !== info.created || this.#position.seq > info.state.last_seq)
      return false;
    if (this.#position.epoch === epoch) return true;
    if (!this.#position.last)
      return this.#position.seq === info.state.last_seq && this.#position.lastTs === info.state.last_ts;
    try {
      const stored = await this.#jsm.streams.getMessage(this.#stream, { seq: this.#position.seq });
      return (
        stored.subject === this.#position.last.subject && stored.header.get(msgIdHeader) === this.#position.last.msgId
      );
    } catch (error) {
      if (isMissing(error, "message")) return false;
      throw error;
    }
  }

  /** A handler that throws has not processed its call: that is a gap. None is called after the stop. */
  #handle(call: () => void) {
    if (this.#isStopped) return;
    try {
      call();
    } catch (error) {
      this.#position = null;
      throw error;
    }
  }

  /** Hands over a message that follows the position; one that was handled meanwhile is left out. */
  #take(message: BusMessage) {
    if (!this.#position || message.streamSeq <= this.#position.seq) return;
    const { subject, msgId, streamSeq: seq } = message;
    this.#position = { ...this.#position, seq, last: { subject, msgId } };
    this.#handle(() => this.#handlers.onMessage(message));
  }

  async #catchUp(end: number) {
    while (this.#position && this.#position.seq < end) {
      const query = { seq: this.#position.seq + 1, next_by_subj: this.#filterSubject };
      try {
        this.#take(toRead(await this.#jsm.streams.getMessage(this.#stream, query)));
      } catch (error) {
        if (isMissing(error, "message")) return;
        throw error;
      }
    }
  }

  readonly #check = async () => {
    this.#repeated = 0;
    const epoch = this.#connection.epoch();
    const info = await this.#jsm.streams.info(this.#stream);
    if (await this.#isContinuous(info, epoch)) {
      if (this.#position) this.#position = { ...this.#position, epoch };
    } else {
      const { last_seq: seq, last_ts: lastTs } = info.state;
      this.#position = { created: info.created, seq, lastTs, last: null, epoch };
      this.#handle(this.#handlers.onGap);
    }
    // A message may have been repeated after the stream's answer, and before there was a position to compare it with.
    await this.#catchUp(Math.max(info.state.last_seq, this.#repeated));
  };

  #onRepeated(message: Msg) {
    const read = toBusMessage(message);
    this.#repeated = Math.max(this.#repeated, read.streamSeq);
    if (this.#position?.epoch !== this.#connection.epoch() || read.streamSeq !== this.#position.seq + 1)
      return this.#watch.now();
    try {
      this.#take(read);
    } catch (error) {
      this.#log.warn({ stream: this.#stream, reason: describe(error) }, "message of a followed stream failed");
      this.#watch.now();
    }
  }

  readonly stop = async () => {
    this.#isStopped = true;
    this.#watch.stop();
    if (!this.#nc.isClosed()) this.#subscription.unsubscribe();
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
