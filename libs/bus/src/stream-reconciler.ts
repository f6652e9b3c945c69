import type { StreamConfig } from "nats";
import type { Connection } from "./connection.ts";
import { serveDurables } from "./durables.ts";
import { busError, isMissing, isPermissionViolation } from "./errors.ts";
import { type OurStreamConfig, sharedStreams, streamConfig, streamOwner } from "./streams.ts";
import type { StreamName } from "./types.ts";
import { startWatch } from "./watch.ts";

const checkEveryMs = 10_000;

/**
 * Makes the stream exist; resolves when it does. Watches it until the connection closes, and creates the durables that
 * its other readers request. One that exists is not changed.
 */
export async function reconcileStream(connection: Connection, name: StreamName, replicas: number) {
  const { service } = connection;
  if (streamOwner[name] !== service) throw new Error(`${service} is not the owner of stream ${name}`);
  if (sharedStreams.has(name)) serveDurables(connection, name);
  const wanted = streamConfig(name, replicas);
  let configured = false;
  const { promise: refused, reject } = withReject();

  const task = async () => {
    try {
      const existing = await connection.jsm.streams.info(name);
      // Said and left alone: the right to update would be the right to purge (docs/decisions/0105).
      if (!configured && differs(existing.config, wanted)) {
        connection.log.warn(
          { stream: name },
          "stream differs from this version's configuration; an operator must update it",
        );
      }
    } catch (error) {
      if (isPermissionViolation(error)) reject(busError(`stream ${name}`, error));
      if (!isMissing(error, "stream")) throw error;
      await connection.jsm.streams.add(wanted);
      if (configured) connection.log.warn({ stream: name }, "stream was gone and is re-created");
      else connection.log.info({ stream: name }, "stream created");
    }
    configured = true;
  };
  const watch = startWatch(connection, `stream ${name}`, checkEveryMs, task);
  try {
    await Promise.race([watch.first, refused]);
  } catch (error) {
    watch.stop();
    throw error;
  }
}

function withReject(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  promise.catch(() => {});
  return { promise, reject };
}

function differs(existing: StreamConfig, wanted: OurStreamConfig): boolean {
  const found = new Map<string, unknown>(Object.entries(existing));
  return Object.entries(wanted).some(([key, value]) => JSON.stringify(found.get(key)) !== JSON.stringify(value));
}
