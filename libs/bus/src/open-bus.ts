import { openConnection } from "./connection.ts";
import { startConsumer } from "./consumer.ts";
import { startFollower } from "./follower.ts";
import { createRelay } from "./relay.ts";
import { reconcileStream } from "./stream-reconciler.ts";
import { createTransport, keptMessages, newestMessage } from "./transport.ts";
import type { Bus, BusOptions } from "./types.ts";

/** Opens the bus: resolves when NATS is there, however long that takes; from then on it reconnects for ever. */
export async function openBus(options: BusOptions): Promise<Bus> {
  const connection = await openConnection(options);
  const running = new Set<{ stop(): Promise<void> }>();
  const keep = <T extends { stop(): Promise<void> }>(part: T): T => {
    running.add(part);
    return part;
  };
  return {
    transport: createTransport(connection),
    kept: (stream, subject, most) => keptMessages(connection, stream, subject, most),
    newest: (stream, subject) => newestMessage(connection, stream, subject),
    relay: createRelay(connection),
    ensureStream: (name) => reconcileStream(connection, name, options.replicas),
    consume: (settings, handler) => keep(startConsumer(connection, settings, handler)),
    follow: (settings, handlers) => keep(startFollower(connection, settings, handlers)),
    check: () => connection.check(),
    async close() {
      await Promise.all([...running].map((part) => part.stop()));
      await connection.close();
    },
  };
}
