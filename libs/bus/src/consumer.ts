import { backoffMs, counter, sleep } from "@muster/kit";
import { assertConnected, type Connection } from "./connection.ts";
import { reconcileConsumer } from "./consumer-reconciler.ts";
import { createDelivery } from "./delivery.ts";
import { busError } from "./errors.ts";
import { type Held, openPull } from "./pull.ts";
import type { ConsumeOptions, Consumer, Handler } from "./types.ts";

const redeliveredCounter = counter("muster_bus_consumer_redelivered_total", "Messages that were delivered before", [
  "stream",
  "durable",
]);

/** Runs a durable pull consumer until stopped: one batch at a time, settled before the next is taken. */
export function startConsumer(connection: Connection, options: ConsumeOptions, handler: Handler): Consumer {
  const { stream, durable, batchMax, batchBytes } = options;
  const stopping = new AbortController();
  const pull = openPull(connection, stream, durable);
  const reconciler = reconcileConsumer(connection, options, pull.interrupt);
  const delivery = createDelivery(connection, options, handler, stopping.signal);
  // The server forgot the request that was waiting there.
  const offReconnect = connection.onReconnect(pull.interrupt);

  const run = async () => {
    await reconciler.first;
    let idle = 0;
    while (!stopping.signal.aborted) {
      await options.room?.();
      await connection.whenConnected();
      if (stopping.signal.aborted) break;
      const { messages, gone } = await pull.next(batchMax, batchBytes);
      for (const message of messages) {
        reconciler.saw(message);
        if (message.deliveries > 1) redeliveredCounter.inc({ stream, durable });
      }
      if (messages.length > 0) {
        idle = 0;
        await delivery.handle(messages);
      } else if (gone) {
        reconciler.now();
        await sleep(backoffMs(idle++, 50, 2_000), stopping.signal);
      }
    }
  };
  const ended = run().finally(() => {
    const giveBack = (message: Held) => message.respond("-NAK");
    offReconnect();
    pull.close().forEach(giveBack);
  });

  return {
    async floor() {
      assertConnected(connection);
      try {
        const { ack_floor, delivered } = await connection.untilLost(connection.jsm.consumers.info(stream, durable));
        return { settled: ack_floor.stream_seq, delivered: delivered.stream_seq };
      } catch (error) {
        throw busError(`consumer ${stream}/${durable}`, error);
      }
    },
    stop: () => {
      stopping.abort();
      reconciler.stop();
      pull.interrupt();
      return ended;
    },
  };
}
