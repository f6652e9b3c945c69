import { counter, gauge } from "@muster/kit";
import { type ConsumerInfo, nanos, type StreamInfo } from "nats";
import type { Connection } from "./connection.ts";
import { ackWaitMs } from "./delivery.ts";
import { type DurableOrder, setDurable } from "./durables.ts";
import { isMissing } from "./errors.ts";
import { msgIdHeader } from "./transport.ts";
import type { BusMessage, ConsumeOptions } from "./types.ts";
import { startWatch, type Watch } from "./watch.ts";

const checkEveryMs = 30_000;
// The outbox keeps published rows as long: what a restored stream lost and received again is within this time.
const replayMs = 10 * 60_000;

const labels: ["stream", "durable"] = ["stream", "durable"];
const pendingGauge = gauge("muster_bus_consumer_pending_messages", "Messages that wait for a durable consumer", [
  ...labels,
]);
const resetCounter = counter("muster_bus_consumer_resets_total", "Durables re-created after a restored stream", [
  ...labels,
]);

export type Seen = Pick<BusMessage, "streamSeq" | "subject" | "msgId">;

/**
 * Why a durable cannot continue at its position, or null. `stored` is what the stream holds now at the position of the
 * newest message seen.
 */
export function resetReason(
  stream: { created: string; lastSeq: number },
  consumer: { created: string; deliveredSeq: number },
  newest: Seen | null,
  stored: { subject: string; msgId: string } | null,
): string | null {
  if (Date.parse(consumer.created) < Date.parse(stream.created)) return "the stream was re-created";
  if (consumer.deliveredSeq > stream.lastSeq) return "the durable is ahead of the stream";
  if (newest && newest.streamSeq > stream.lastSeq) return "the stream lost messages that were delivered";
  if (newest && stored && (stored.msgId !== newest.msgId || stored.subject !== newest.subject)) {
    return "the stream holds another message where the newest delivered one stood";
  }
  return null;
}

/** A restarted server reports the creation of a durable up to a millisecond later than it did when it created it. */
const isSameTime = (one: string, other: string) => Math.abs(Date.parse(one) - Date.parse(other)) < 1_000;

export type ConsumerReconciler = Watch & { saw(message: Seen): void };

/**
 * Keeps the durable existing, configured and in step with its stream, through the stream's owner; `onReset` after it
 * was re-created.
 */
export function reconcileConsumer(
  connection: Connection,
  options: ConsumeOptions,
  onReset: () => void,
): ConsumerReconciler {
  const { jsm, log } = connection;
  const { stream, durable } = options;
  const where = { stream, durable };
  let newest: Seen | null = null;
  let lastCreated = "";
  let configured = false;

  const set = async (action: DurableOrder["action"], from: Date | null = null) => {
    const { filterSubject, maxAckPending } = options;
    const order = { action, filterSubject, maxAckPending, from: from?.toISOString() ?? null };
    lastCreated = await setDurable(connection, stream, durable, order);
    if (action !== "update") newest = null;
  };

  const stored = async (seq: number) => {
    try {
      const message = await jsm.streams.getMessage(stream, { seq });
      return { subject: message.subject, msgId: message.header.get(msgIdHeader), time: message.time };
    } catch (error) {
      if (isMissing(error, "message")) return null;
      throw error;
    }
  };

  const reset = async (reason: string, streamInfo: StreamInfo, info: ConsumerInfo) => {
    const replay = new Date(Date.now() - replayMs);
    // Delivered but unacknowledged messages may be older than that: they must not be skipped.
    const unsettled = info.ack_floor.stream_seq + 1;
    const oldest = unsettled <= streamInfo.state.last_seq ? await stored(unsettled) : null;
    const start = oldest && oldest.time < replay ? oldest.time : replay;
    resetCounter.inc(where);
    log.warn({ ...where, reason, from: start.toISOString() }, "durable consumer is re-created");
    await set("replace", start);
    onReset();
  };

  const task = async () => {
    const streamInfo = await jsm.streams.info(stream);
    let info: ConsumerInfo;
    try {
      info = await jsm.consumers.info(stream, durable);
    } catch (error) {
      if (!isMissing(error, "consumer")) throw error;
      await set("create");
      log.info(where, "durable consumer created");
      onReset();
      return;
    }
    // Another replica re-created it: what was seen through the former durable proves nothing.
    if (!isSameTime(info.created, lastCreated)) newest = null;
    lastCreated = info.created;
    const { state, created } = streamInfo;
    const there = newest && newest.streamSeq <= state.last_seq ? await stored(newest.streamSeq) : null;
    const reason = resetReason(
      { created, lastSeq: state.last_seq },
      { created: info.created, deliveredSeq: info.delivered.stream_seq },
      newest,
      there,
    );
    if (reason) return await reset(reason, streamInfo, info);
    pendingGauge.set(where, info.num_pending + info.num_ack_pending);
    const wanted = {
      ack_wait: nanos(ackWaitMs),
      max_ack_pending: options.maxAckPending,
      filter_subject: options.filterSubject,
    };
    const { ack_wait, max_ack_pending, filter_subject } = info.config;
    // Only once: two versions of a service that differ would overwrite one another during a rollout.
    if (!configured && JSON.stringify({ ack_wait, max_ack_pending, filter_subject }) !== JSON.stringify(wanted)) {
      await set("update");
    }
    configured = true;
  };

  const watch = startWatch(connection, `consumer ${stream}/${durable}`, checkEveryMs, task);
  return {
    ...watch,
    saw: (message) => {
      if (!newest || message.streamSeq > newest.streamSeq) {
        newest = message;
      }
    },
  };
}
