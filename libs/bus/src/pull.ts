import { createInbox, type Msg, nanos } from "nats";
import type { Connection } from "./connection.ts";
import { msgIdHeader, traceHeader } from "./transport.ts";
import type { BusMessage } from "./types.ts";

/** A delivered message with what is needed to settle it. */
export type Held = BusMessage & {
  /** Number of this delivery in the consumer: gapless as long as nothing was missed. */
  consumerSeq: number;
  /** Messages that still waited for this consumer when this one left the server. */
  pending: number;
  respond(payload: string | Uint8Array): void;
};

/** `gone`: the server does not answer for this consumer any more, or reports that it was deleted. */
export type Pulled = { messages: Held[]; gone: boolean };

export type Pull = {
  /**
   * The pending messages, else the first that arrives and those that arrive with it; empty after about 30 s or an
   * interruption.
   */
  next(batchMax: number, bytesMax: number): Promise<Pulled>;
  interrupt(): void;
  /** Ends listening and hands back what had arrived and was not taken. */
  close(): Held[];
};

const expiresMs = 30_000;
const heartbeatMs = 5_000;
const silenceMs = 12_500;
// The server reports when nothing more is pending, except when `max_ack_pending` is what stops it.
const quietMs = 10;
// What the server adds to a body when it counts bytes: subject, reply subject, headers.
const overheadBytes = 1_024;

type Request = { id: string; finish(gone: boolean): void; arrived(): void; tooLarge(): void; alive(): void };

/**
 * Pulls for one consumer. `no_wait` with `expires` waits for the first message and ends at the last pending one (NATS ≥
 * 2.9).
 */
export function openPull(connection: Connection, stream: string, consumer: string): Pull {
  const { nc } = connection;
  const inbox = createInbox(connection.inboxPrefix);
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
  let buffer: Held[] = [];
  let requests = 0;
  let current: Request | null = null;

  const onStatus = (message: Msg, code: number) => {
    // A status of an earlier request says nothing about the present one.
    if (!current || message.subject !== current.id) return;
    const text = message.headers?.description ?? "";
    if (code === 100) current.alive();
    else if (code === 409 && /exceeds maxbytes/i.test(text)) current.tooLarge();
    else current.finish(code === 503 || (code === 409 && /deleted|not active/i.test(text)));
  };
  const subscription = nc.subscribe(`${inbox}.*`, {
    callback: (_error, message) => {
      // Only a delivery is to be answered; headers are expensive, so those of deliveries are not read here.
      if (!message.reply) return onStatus(message, message.headers?.code ?? 0);
      buffer.push(toHeld(message));
      current?.arrived();
    },
  });

  const send = (id: string, batch: number, maxBytes: number | null, wait: boolean) => {
    const request = {
      batch,
      no_wait: true,
      ...(maxBytes === null ? {} : { max_bytes: maxBytes }),
      ...(wait ? { expires: nanos(expiresMs), idle_heartbeat: nanos(heartbeatMs) } : {}),
    };
    nc.publish(subject, JSON.stringify(request), { reply: id });
  };

  return {
    async next(batchMax, bytesMax) {
      const ready = takeUpTo(buffer, batchMax, bytesMax);
      if (ready > 0) return { messages: buffer.splice(0, ready), gone: false };
      const gone = await new Promise<boolean>((resolve) => {
        const id = `${inbox}.${++requests}`;
        let timer: NodeJS.Timeout;
        let isQuiet = false;
        const finish = (isGone: boolean) => {
          clearTimeout(timer);
          current = null;
          resolve(isGone);
        };
        const arm = (ms: number, isGone: boolean) => {
          isQuiet = !isGone;
          clearTimeout(timer);
          timer = setTimeout(() => finish(isGone), ms);
        };
        // For each message: the same timer again is cheaper than another.
        const rest = () => (isQuiet ? void timer.refresh() : arm(quietMs, false));
        current = {
          id,
          finish,
          arrived: () => (buffer.length >= batchMax ? finish(false) : rest()),
          // Larger than a whole batch may be: it travels alone, or it would never travel.
          tooLarge: () => (buffer.length > 0 ? finish(false) : send(id, 1, null, true)),
          alive: () => arm(silenceMs, true),
        };
        arm(silenceMs, true);
        send(id, batchMax, bytesMax + overheadBytes, true);
      });
      return { messages: buffer.splice(0, Math.max(1, takeUpTo(buffer, batchMax, bytesMax))), gone };
    },
    interrupt: () => current?.finish(false),
    close: () => {
      subscription.unsubscribe();
      current?.finish(false);
      const rest = buffer;
      buffer = [];
      return rest;
    },
  };
}

function takeUpTo(held: Held[], batchMax: number, bytesMax: number): number {
  let count = 0;
  let bytes = 0;
  for (const message of held) {
    bytes += message.body.length;
    if (count === batchMax || (count > 0 && bytes > bytesMax)) break;
    count++;
  }
  return count;
}

/**
 * Reads `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>`; longer forms end
 * alike.
 */
export function toHeld(message: Msg): Held {
  const reply = message.reply ?? "";
  // The longer form has a domain and an account in front.
  const isWhole = readNumbers(reply, 4) || readNumbers(reply, 6);
  const [deliveries = 0, streamSeq = 0, consumerSeq = 0, , pending = 0] = numbers;
  if (!isWhole || !reply.startsWith("$JS.")) throw new Error(`not a JetStream delivery: ${reply}`);
  return new Delivered(message, deliveries, streamSeq, consumerSeq, pending);
}

const numbers = [0, 0, 0, 0, 0];
const dot = 46;

/**
 * Reads the five numbers after `skip` tokens into `numbers`, digit by digit: substrings for each message are expensive.
 */
function readNumbers(reply: string, skip: number): boolean {
  let at = 0;
  for (let n = 0; n < skip; n++) {
    at = reply.indexOf(".", at) + 1;
    if (at === 0) return false;
  }
  for (let n = 0; n < numbers.length; n++, at++) {
    const from = at;
    let value = 0;
    for (; at < reply.length && reply.charCodeAt(at) !== dot; at++) {
      const digit = reply.charCodeAt(at) - 48;
      if (digit < 0 || digit > 9) return false;
      value = value * 10 + digit;
    }
    if (at === from) return false;
    numbers[n] = value;
  }
  // The short form ends here; the longer one has one token more, or none.
  return skip > 4 || at > reply.length;
}

/** Headers are decoded on first access: most handlers never read them. */
class Delivered implements Held {
  readonly subject: string;
  readonly body: Uint8Array;
  readonly deliveries: number;
  readonly streamSeq: number;
  readonly consumerSeq: number;
  readonly pending: number;
  readonly #message: Msg;
  #handling: string | null = null;

  constructor(message: Msg, deliveries: number, streamSeq: number, consumerSeq: number, pending: number) {
    this.#message = message;
    this.subject = message.subject;
    this.body = message.data;
    this.deliveries = deliveries;
    this.streamSeq = streamSeq;
    this.consumerSeq = consumerSeq;
    this.pending = pending;
  }

  get msgId(): string {
    return this.#message.headers?.get(msgIdHeader) ?? "";
  }

  get traceparent(): string | null {
    return this.#handling ?? (this.#message.headers?.get(traceHeader) || null);
  }

  /** The span that handles the message replaces the publisher's. */
  set traceparent(handling: string | null) {
    this.#handling = handling;
  }

  respond(payload: string | Uint8Array): void {
    this.#message.respond(payload);
  }
}
