import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { codeOf } from "./problem.ts";

/** Below the range from which systems take ports for outgoing connections: one of those could sit on ours in a restart. */
const lowest = 20_000;
const highest = 32_000;

/** Whether this address can be listened on now; otherwise why not (`EADDRINUSE`, `EACCES` …). */
export function portState(port: number, host = "127.0.0.1"): Promise<"free" | (string & {})> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve(codeOf(error) || error.message));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve("free")));
  });
}

/** A port of 127.0.0.1 that is free now and not among `taken`. */
export async function freePort(taken: ReadonlySet<number> = new Set()): Promise<number> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const port = randomInt(lowest, highest);
    if (!taken.has(port) && (await portState(port)) === "free") return port;
  }
  throw new Error(`No free port between ${lowest} and ${highest}`);
}

/** The remembered port of each name while it is still free, another one otherwise; never one of `reserved`. */
export async function stablePorts(
  names: readonly string[],
  remembered: Readonly<Record<string, number>>,
  reserved: readonly number[] = [],
): Promise<Record<string, number>> {
  const taken = new Set(reserved);
  const ports: Record<string, number> = {};
  for (const name of names) {
    const port = remembered[name];
    if (port && !taken.has(port) && (await portState(port)) === "free") {
      ports[name] = port;
      taken.add(port);
    }
  }
  for (const name of names) {
    if (ports[name]) continue;
    const port = await freePort(taken);
    ports[name] = port;
    taken.add(port);
  }
  return ports;
}
