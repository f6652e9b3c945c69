import type { StreamConfig } from "nats";
import type { Connection } from "./connection.ts";
import { busError, isMissing, isPermissionViolation } from "./errors.ts";
import { type OurStreamConfig, streamConfig, streamOwner } from "./streams.ts";
import type { StreamName } from "./types.ts";
import { startWatch } from "./watch.ts";

const lookEveryMs = 10_000;

/** Makes the stream exist with our configuration; resolves when it does. Watches it until the connection closes. */
export async function keepStream(connection: Connection, service: string, name: StreamName, replicas: number) {
  if (streamOwner[name] !== service) throw new Error(`${service} is not the owner of stream ${name}`);
  const wanted = streamConfig(name, replicas);
  let configured = false;
  const { promise: refused, reject } = withReject();

  const task = async () => {
    try {
      const existing = await connection.jsm.streams.info(name);
      // Only once: two versions of the owner that differ would otherwise overwrite one another during a rollout.
      if (!configured && differs(existing.config, wanted)) {
        await connection.jsm.streams.update(name, wanted);
        connection.log.info({ stream: name }, "stream updated");
      }
    } catch (error) {
      if (isPermissionViolation(error)) reject(busError(`stream ${name}`, error));
      if (!isMissing(error, "stream")) throw error;
      await connection.jsm.streams.add(wanted);
      connection.log.warn({ stream: name }, configured ? "stream was gone and is re-created" : "stream created");
    }
    configured = true;
  };
  const watch = startWatch(connection, `stream ${name}`, lookEveryMs, task);
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
  return Object.entries(wanted).some(
    ([key, value]) => JSON.stringify(existing[key as keyof StreamConfig]) !== JSON.stringify(value),
  );
}
