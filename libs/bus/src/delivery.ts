import { activeTracer, backoffMs, counter, endSpan, SpanKind, sleep, startFollowing, traceparentOf } from "@muster/kit";
import type { Connection } from "./connection.ts";
import { describe, isTemporary } from "./errors.ts";
import type { Held } from "./pull.ts";
import type { ConsumeOptions, Handler } from "./types.ts";

// Also how long a message waits that was on its way when NATS or its consumer was killed.
export const ackWaitMs = 10_000;
const workingEveryMs = 3_000;
const nakBaseMs = 100;
const nakMaxMs = 10_000;
// A message delivered this often is tried by itself even if this process never saw it fail: it may be what kills the
// process.
const suspectDeliveries = 3;
const deadLetterFailures = 3;
const ack = new TextEncoder().encode("+ACK");

const deadLetterCounter = counter(
  "muster_bus_consumer_dead_letters_total",
  "Messages stored as dead letters after their last delivery",
  ["stream", "durable"],
);

export type Delivery = { handle(batch: Held[]): Promise<void> };

/**
 * Hands batches to the handler and settles each message: acknowledged after success, returned with a growing delay
 * after a failure, tried alone once it was part of a failure, dead-lettered after `maxDeliver` deliveries. After a
 * temporary failure the handler is called again without a new delivery, for ever, so that it never counts.
 */
export function createDelivery(
  connection: Connection,
  options: ConsumeOptions,
  handler: Handler,
  signal: AbortSignal,
): Delivery {
  return new Delivered(connection, options, handler, signal);
}

class Delivered implements Delivery {
  readonly #signal: AbortSignal;
  readonly #handler: Handler;
  readonly #options: ConsumeOptions;
  readonly #connection: Connection;
  readonly #log: Connection["log"];
  readonly #where;
  readonly #part;
  // How often unsettled messages were part of a failure here. Other replicas may settle them: bounded, oldest dropped
  // first.
  readonly #failures = new Map<number, number>();

  constructor(connection: Connection, options: ConsumeOptions, handler: Handler, signal: AbortSignal) {
    this.#signal = signal;
    this.#handler = handler;
    this.#options = options;
    this.#connection = connection;
    const { log } = connection;
    this.#log = log;
    this.#where = { stream: options.stream, durable: options.durable };
    deadLetterCounter.inc(this.#where, 0);
    this.#part = `consumer ${options.stream}/${options.durable}`;
  }

  #failed(message: Held): number {
    const count = (this.#failures.get(message.streamSeq) ?? 0) + 1;
    this.#failures.set(message.streamSeq, count);
    dropOldest(this.#failures, this.#options.maxAckPending * 4);
    return count;
  }

  #settle(message: Held, payload: typeof ack | string, open: Set<Held>) {
    open.delete(message);
    message.respond(payload);
    if (payload === ack) this.#failures.delete(message.streamSeq);
  }

  #returnNow(message: Held, open: Set<Held>) {
    return this.#settle(message, "-NAK", open);
  }

  #returnLater(message: Held, open: Set<Held>) {
    const delayMs = backoffMs(message.deliveries - 1, nakBaseMs, nakMaxMs);
    this.#settle(message, `-NAK ${JSON.stringify({ delay: Math.round(delayMs * 1e6) })}`, open);
  }

  /**
   * Runs until it succeeds or fails permanently. "stopped" when the consumer ended while it waited for an unavailable
   * dependency.
   */
  async #attempt(run: () => Promise<void>): Promise<{ error: unknown } | "done" | "stopped"> {
    for (let waits = 0; ; waits++) {
      try {
        await run();
        this.#connection.problems.delete(this.#part);
        return "done";
      } catch (error) {
        if (!isTemporary(error)) return { error };
        const delayMs = Math.round(backoffMs(waits, 100, 5_000));
        this.#connection.problems.set(this.#part, `${this.#part} waits: ${describe(error)}`);
        this.#log.warn({ ...this.#where, reason: describe(error), delayMs }, "batch cannot be handled now, waiting");
        await sleep(delayMs, this.#signal);
        if (this.#signal.aborted) return "stopped";
      }
    }
  }

  async #storeDeadLetter(message: Held, error: unknown, open: Set<Held>) {
    const reason = describe(error);
    // Whatever prevents storing it, the message is acknowledged only afterwards: otherwise it would be lost.
    for (let waits = 0; !this.#signal.aborted; waits++) {
      try {
        await this.#options.onDeadLetter(message, reason);
        deadLetterCounter.inc(this.#where);
        this.#log.error(
          { ...this.#where, seq: message.streamSeq, msgId: message.msgId, err: error },
          "message dead-lettered",
        );
        return this.#settle(message, ack, open);
      } catch (err) {
        this.#log.error({ ...this.#where, seq: message.streamSeq, err }, "dead letter cannot be stored, trying again");
        await sleep(backoffMs(waits, 100, 5_000), this.#signal);
      }
    }
    this.#returnNow(message, open);
  }

  async #handleAlone(message: Held, open: Set<Held>) {
    const outcome = await this.#attempt(() => this.#handler([message]));
    if (outcome === "done") return this.#settle(message, ack, open);
    if (outcome === "stopped") return this.#returnNow(message, open);
    const { deliveries, streamSeq: seq } = message;
    // Restarts deliver again too, without any failure: only a message that failed here repeatedly is given up.
    const enough = this.#failed(message) >= Math.min(deadLetterFailures, this.#options.maxDeliver);
    if (enough && deliveries >= this.#options.maxDeliver)
      return await this.#storeDeadLetter(message, outcome.error, open);
    this.#log.warn({ ...this.#where, seq, deliveries, err: outcome.error }, "message failed");
    this.#returnLater(message, open);
  }

  async #handleTogether(batch: Held[], open: Set<Held>) {
    if (batch.length === 1 && batch[0]) return await this.#handleAlone(batch[0], open);
    const outcome = await this.#attempt(() => this.#handler(batch));
    for (const message of batch) {
      if (outcome === "done") this.#settle(message, ack, open);
      else if (outcome === "stopped") this.#returnNow(message, open);
      else {
        this.#failed(message);
        this.#returnLater(message, open);
      }
    }
    if (typeof outcome === "object")
      this.#log.warn({ ...this.#where, messages: batch.length, err: outcome.error }, "batch failed");
  }

  readonly handle = async (batch: Held[]): Promise<void> => {
    const open = new Set(batch);
    const spans = activeTracer() ? batch.flatMap((each) => consumerSpan(this.#where.durable, each) ?? []) : [];
    const working = setInterval(() => {
      for (const message of open) message.respond("+WPI");
    }, workingEveryMs);
    try {
      const isSuspect = (m: Held) => this.#failures.has(m.streamSeq) || m.deliveries > suspectDeliveries;
      const suspects = batch.filter(isSuspect);
      const together = batch.filter((m) => !suspects.includes(m));
      if (together.length > 0) await this.#handleTogether(together, open);
      for (const message of suspects) {
        if (this.#signal.aborted) this.#returnNow(message, open);
        else await this.#handleAlone(message, open);
      }
    } finally {
      clearInterval(working);
      for (const span of spans) endSpan(span, "ok");
    }
  };
}

/** A span of a sampled message while its batch is handled. What handles it finds it as the message's `traceparent`. */
function consumerSpan(durable: string, message: Held) {
  const attributes = {
    "messaging.system": "nats",
    "messaging.operation.type": "process",
    "messaging.operation.name": "process",
    "messaging.destination.name": message.subject.split(".")[0] ?? "",
    "messaging.consumer.group.name": durable,
    "messaging.message.id": message.msgId,
  };
  const span = startFollowing(`process ${durable}`, SpanKind.CONSUMER, attributes, message.traceparent);
  if (span) message.traceparent = traceparentOf(span);
  return span;
}

function dropOldest(entries: Map<number, number>, bound: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= bound) return;
    entries.delete(key);
  }
}
