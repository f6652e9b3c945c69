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
  const reconciler = new Reconciler(connection, options, onReset);
  const { stream, durable } = options;
  const watch = startWatch(connection, `consumer ${stream}/${durable}`, checkEveryMs, () => reconciler.run());
  return { ...watch, saw: (message) => reconciler.saw(message) };
}

class Reconciler {
  readonly #connection: Connection;
  readonly #options: ConsumeOptions;
  readonly #onReset: () => void;
  readonly #where: { stream: string; durable: string };
  #newest: Seen | null = null;
  #lastCreated = "";
  #configured = false;

  constructor(connection: Connection, options: ConsumeOptions, onReset: () => void) {
    this.#connection = connection;
    this.#options = options;
    this.#onReset = onReset;
    this.#where = { stream: options.stream, durable: options.durable };
  }

  saw(message: Seen): void {
    if (!this.#newest || message.streamSeq > this.#newest.streamSeq) this.#newest = message;
  }

  /** One comparison of the durable with its stream, and what follows from it. */
  async run(): Promise<void> {
    const { jsm } = this.#connection;
    const streamInfo = await jsm.streams.info(this.#options.stream);
    const info = await this.#infoOrCreated();
    if (info === null) return;
    // Another replica re-created it: what was seen through the former durable proves nothing.
    if (!isSameTime(info.created, this.#lastCreated)) this.#newest = null;
    this.#lastCreated = info.created;
    const { state, created } = streamInfo;
    const newest = this.#newest;
    const there = newest && newest.streamSeq <= state.last_seq ? await this.#stored(newest.streamSeq) : null;
    const reason = resetReason(
      { created, lastSeq: state.last_seq },
      { created: info.created, deliveredSeq: info.delivered.stream_seq },
      this.#newest,
      there,
    );
    if (reason) return await this.#reset(reason, streamInfo, info);
    pendingGauge.set(this.#where, info.num_pending + info.num_ack_pending);
    await this.#configureOnce(info);
  }

  /** The durable; null when it was missing and has been created. */
  async #infoOrCreated(): Promise<ConsumerInfo | null> {
    const { jsm, log } = this.#connection;
    try {
      return await jsm.consumers.info(this.#options.stream, this.#options.durable);
    } catch (error) {
      if (!isMissing(error, "consumer")) throw error;
      await this.#set("create");
      log.info(this.#where, "durable consumer created");
      this.#onReset();
      return null;
    }
  }

  // Only once: two versions of a service that differ would overwrite one another during a rollout.
  async #configureOnce(info: ConsumerInfo): Promise<void> {
    const wanted = {
      ack_wait: nanos(ackWaitMs),
      max_ack_pending: this.#options.maxAckPending,
      filter_subject: this.#options.filterSubject,
    };
    const { ack_wait, max_ack_pending, filter_subject } = info.config;
    const isSame = JSON.stringify({ ack_wait, max_ack_pending, filter_subject }) === JSON.stringify(wanted);
    if (!this.#configured && !isSame) await this.#set("update");
    this.#configured = true;
  }

  async #set(action: DurableOrder["action"], from: Date | null = null): Promise<void> {
    const { stream, durable, filterSubject, maxAckPending } = this.#options;
    const order = { action, filterSubject, maxAckPending, from: from?.toISOString() ?? null };
    this.#lastCreated = await setDurable(this.#connection, stream, durable, order);
    if (action !== "update") this.#newest = null;
  }

  async #stored(seq: number): Promise<{ subject: string; msgId: string; time: Date } | null> {
    try {
      const message = await this.#connection.jsm.streams.getMessage(this.#options.stream, { seq });
      return { subject: message.subject, msgId: message.header.get(msgIdHeader), time: message.time };
    } catch (error) {
      if (isMissing(error, "message")) return null;
      throw error;
    }
  }

  async #reset(reason: string, streamInfo: StreamInfo, info: ConsumerInfo): Promise<void> {
    const replay = new Date(Date.now() - replayMs);
    // Delivered but unacknowledged messages may be older than that: they must not be skipped.
    const unsettled = info.ack_floor.stream_seq + 1;
    const oldest = unsettled <= streamInfo.state.last_seq ? await this.#stored(unsettled) : null;
    const start = oldest && oldest.time < replay ? oldest.time : replay;
    resetCounter.inc(this.#where);
    this.#connection.log.warn({ ...this.#where, reason, from: start.toISOString() }, "durable consumer is re-created");
    await this.#set("replace", start);
    this.#onReset();
  }
}
