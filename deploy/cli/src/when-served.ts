import { setTimeout as sleep } from "node:timers/promises";
import { done, type Reply } from "./failure.ts";
import type { Io } from "./io.ts";

/** How long a sign-in waits for a deployment that is starting. */
const patienceMs = 30_000;

/** The data of a call that did nothing when it was answered 503: it is made again until it is served. */
export async function whenServed<T>(io: Io, call: () => Promise<Reply<T>>): Promise<T> {
  const endMs = performance.now() + patienceMs;
  for (let hasReported = false; ; hasReported = true) {
    const reply = await call();
    const { status, headers } = reply.response;
    const pauseMs = Number(headers.get("retry-after") ?? 1) * 1_000 || 100;
    // Where nothing answers at all the address is wrong more often than early.
    const isBusy = status === 503 && reply.error?.code !== "network_error";
    if (!isBusy || performance.now() + pauseMs > endMs) return done(Promise.resolve(reply));
    if (!hasReported) io.stderr.write("muster: the deployment is starting or busy; trying again for half a minute\n");
    await sleep(pauseMs);
  }
}
