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
  const { log } = connection;
  const where = { stream: options.stream, durable: options.durable };
  deadLetterCounter.inc(where, 0);
  const part = `consumer ${options.stream}/${options.durable}`;
  // How often unsettled messages were part of a failure here. Other replicas may settle them: bounded, oldest dropped
  // first.
  const failures = new Map<number, number>();
  const failed = (message: Held): number => {
    const count = (failures.get(message.streamSeq) ?? 0) + 1;
    failures.set(message.streamSeq, count);
    dropOldest(failures, options.maxAckPending * 4);
    return count;
  };

  const settle = (message: Held, payload: typeof ack | string, open: Set<Held>) => {
    open.delete(message);
    message.respond(payload);
    if (payload === ack) failures.delete(message.streamSeq);
  };
  const returnNow = (message: Held, open: Set<Held>) => settle(message, "-NAK", open);
  const returnLater = (message: Held, open: Set<Held>) => {
    const delayMs = backoffMs(message.deliveries - 1, nakBaseMs, nakMaxMs);
    settle(message, `-NAK ${JSON.stringify({ delay: Math.round(delayMs * 1e6) })}`, open);
  };

  /**
   * Runs until it succeeds or fails permanently. "stopped" when the consumer ended while it waited for an unavailable
   * dependency.
   */
  const attempt = async (run: () => Promise<void>): Promise<{ error: unknown } | "done" | "stopped"> => {
    for (let waits = 0; ; waits++) {
      try {
        await run();
        connection.problems.delete(part);
        return "done";
      } catch (error) {
        if (!isTemporary(error)) return { error };
        const delayMs = Math.round(backoffMs(waits, 100, 5_000));
        connection.problems.set(part, `${part} waits: ${describe(error)}`);
        log.warn({ ...where, reason: describe(error), delayMs }, "batch cannot be handled now, waiting");
        await sleep(delayMs, signal);
        if (signal.aborted) return "stopped";
      }
    }
  };

  const storeDeadLetter = async (message: Held, error: unknown, open: Set<Held>) => {
    const reason = describe(error);
    // Whatever prevents storing it, the message is acknowledged only afterwards: otherwise it would be lost.
    for (let waits = 0; !signal.aborted; waits++) {
      try {
        await options.onDeadLetter(message, reason);
        deadLetterCounter.inc(where);
        log.error({ ...where, seq: message.streamSeq, msgId: message.msgId, err: error }, "message dead-lettered");
        return settle(message, ack, open);
      } catch (err) {
        log.error({ ...where, seq: message.streamSeq, err }, "dead letter cannot be stored, trying again");
        await sleep(backoffMs(waits, 100, 5_000), signal);
      }
    }
    returnNow(message, open);
  };

  const handleAlone = async (message: Held, open: Set<Held>) => {
    const outcome = await attempt(() => handler([message]));
    if (outcome === "done") return settle(message, ack, open);
    if (outcome === "stopped") return returnNow(message, open);
    const { deliveries, streamSeq: seq } = message;
    // Restarts deliver again too, without any failure: only a message that failed here repeatedly is given up.
    const enough = failed(message) >= Math.min(deadLetterFailures, options.maxDeliver);
    if (enough && deliveries >= options.maxDeliver) return await storeDeadLetter(message, outcome.error, open);
    log.warn({ ...where, seq, deliveries, err: outcome.error }, "message failed");
    returnLater(message, open);
  };

  const handleTogether = async (batch: Held[], open: Set<Held>) => {
    if (batch.length === 1 && batch[0]) return await handleAlone(batch[0], open);
    const outcome = await attempt(() => handler(batch));
    for (const message of batch) {
      if (outcome === "done") settle(message, ack, open);
      else if (outcome === "stopped") returnNow(message, open);
      else {
        failed(message);
        returnLater(message, open);
      }
    }
    if (typeof outcome === "object") log.warn({ ...where, messages: batch.length, err: outcome.error }, "batch failed");
  };

  return {
    async handle(batch) {
      const open = new Set(batch);
      const spans = activeTracer() ? batch.flatMap((each) => consumerSpan(where.durable, each) ?? []) : [];
      const working = setInterval(() => {
        for (const message of open) message.respond("+WPI");
      }, workingEveryMs);
      try {
        const isSuspect = (m: Held) => failures.has(m.streamSeq) || m.deliveries > suspectDeliveries;
        const suspects = batch.filter(isSuspect);
        const together = batch.filter((m) => !suspects.includes(m));
        if (together.length > 0) await handleTogether(together, open);
        for (const message of suspects) {
          if (signal.aborted) returnNow(message, open);
          else await handleAlone(message, open);
        }
      } finally {
        clearInterval(working);
        for (const span of spans) endSpan(span, "ok");
      }
    },
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
