import { randomInt } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { createServer } from "node:net";
import { codeOf } from "@muster/kit/light";

/**
 * Below the range from which systems take ports for outgoing connections: one of those could sit on ours in a restart.
 */
const lowest = 20_000;
const highest = 32_000;

/**
 * This process's claims: UDP sockets on the ports' numbers. The kernel makes a claim atomic and releases it however the
 * process ends; a lock file would outlive it, and port 0 is another one after a restart.
 */
const claims = new Map<number, Socket>();

/** Whether this address can be listened on now; otherwise why not (`EADDRINUSE`, `EACCES` …). */
export function portState(port: number, host = "127.0.0.1"): Promise<"free" | (string & {})> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve(codeOf(error) || error.message));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve("free")));
  });
}

/**
 * Claims the port of that number for this process until it ends, however it ends: no other process that asks here is
 * given it, although no process listens on it yet. False when another one has claimed it; true again for the one that
 * has.
 */
export function claimPort(port: number): Promise<boolean> {
  if (claims.has(port)) return Promise.resolve(true);
  return new Promise((resolve) => {
    const claim = createSocket("udp4");
    claim.once("error", () => {
      claim.close();
      resolve(false);
    });
    claim.bind({ port, address: "127.0.0.1", exclusive: true }, () => {
      claim.unref();
      claims.set(port, claim);
      resolve(true);
    });
  });
}

/** The first of `count` ports of 127.0.0.1 in a row that are free now, none of them among `taken`; they are claimed. */
export async function freePort(taken: ReadonlySet<number> = new Set(), count = 1): Promise<number> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const first = randomInt(lowest, highest - count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.some((port) => taken.has(port) || claims.has(port))) continue;
    if (await all(ports, async (port) => (await claimPort(port)) && (await portState(port)) === "free")) return first;
    for (const port of ports) release(port);
  }
  throw new Error(`No free port between ${lowest} and ${highest}`);
}

/**
 * The saved port of each name while it is still free, another one otherwise; never one of `reserved`. All are
 * claimed.
 */
export async function stablePorts(
  names: readonly string[],
  saved: Readonly<Record<string, number>>,
  reserved: readonly number[] = [],
): Promise<Record<string, number>> {
  const taken = new Set(reserved);
  const ports: Record<string, number> = {};
  for (const name of names) {
    const port = saved[name];
    if (port && !taken.has(port) && (await claimPort(port)) && (await portState(port)) === "free") {
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

function release(port: number): void {
  claims.get(port)?.close();
  claims.delete(port);
}

async function all(ports: readonly number[], holds: (port: number) => Promise<boolean>): Promise<boolean> {
  for (const port of ports) if (!(await holds(port))) return false;
  return true;
}
