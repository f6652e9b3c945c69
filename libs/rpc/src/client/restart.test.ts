import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createClient } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { register } from "../port/registration.ts";
import { toAppError } from "../protocol/errors.ts";
import { sessionImpl, type TestPort, testPort } from "../testing/ports.ts";
import { createTransport } from "./transport.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Keeps the loop, which client and servers share here, from taking connections at once. */
function busy(): NodeJS.Timeout {
  return setInterval(() => {
    const endMs = performance.now() + Math.random() * 15;
    while (performance.now() < endMs);
  }, 20);
}

/**
 * Calls of `clients` × 3 at a time that may not be repeated, until `stop`, which returns how many were made and what
 * failed.
 */
function calling(baseUrls: string[], clients: number, perCallMs: number) {
  const transports = Array.from({ length: clients }, () => createTransport({ baseUrls, clientTtlMs: 20 }));
  cleanups.push(() => Promise.all(transports.map((transport) => transport.close())));
  let going = true;
  let called = 0;
  const failures: unknown[] = [];
  const loops = transports.flatMap((transport) =>
    [1, 2, 3].map(async () => {
      const client = createClient(SessionService, transport);
      while (going) {
        called += 1;
        // Each server of this test has its own key, so that these calls are refused, which is an answer, too.
        await client.login({}).catch((error: unknown) => {
          if (toAppError(error).code !== "unauthenticated") failures.push(error);
        });
        if (perCallMs > 0) await new Promise((resolve) => setTimeout(resolve, perCallMs));
      }
    }),
  );
  return async () => {
    going = false;
    await Promise.all(loops);
    return { called, failures };
  };
}

/**
 * One address before several ports, as a Service is: connections go to the ports in turn, past one that no server
 * listens at.
 */
async function balancer(ports: number[]): Promise<string> {
  let turn = 0;
  const sockets = new Set<Socket>();
  const join = (inbound: Socket) => {
    turn += 1;
    const outbound = connect({ port: ports[turn % ports.length] as number, host: "127.0.0.1", noDelay: true });
    let connected = false;
    outbound.on("error", () => (connected || inbound.destroyed ? inbound.destroy() : join(inbound)));
    outbound.once("connect", () => {
      connected = true;
      sockets.add(outbound);
      inbound.once("close", () => outbound.destroy());
      inbound.pipe(outbound).pipe(inbound);
    });
  };
  const server = createServer({ noDelay: true }, (inbound) => {
    sockets.add(inbound);
    inbound.on("error", () => inbound.destroy());
    join(inbound);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("servers that are replaced one after the other", () => {
  it("lose no call, also none that may not be repeated", async () => {
    const services = [register(SessionService, sessionImpl())];
    const start = (port = 0) => testPort({ port, drainDelayMs: 100, services });
    const servers = [await start(), await start()] as [TestPort, TestPort];
    cleanups.push(() => Promise.all(servers.map((server) => server.drain())));
    const load = busy();
    cleanups.push(() => clearInterval(load));
    // Connections of an age that makes every few calls open one.
    const stop = calling(
      servers.map(({ url }) => url),
      3,
      0,
    );
    for (let round = 0; round < 12; round++) {
      const at = round % 2;
      const { port, drain } = servers[at] as TestPort;
      await drain();
      servers[at] = await start(port);
    }
    const { called, failures } = await stop();
    expect(failures).toEqual([]);
    expect(called).toBeGreaterThan(20);
  }, 60_000);
});

describe("servers behind one address", () => {
  it("lose no call while the balancer still leads to the one that leaves", async () => {
    const services = [register(SessionService, sessionImpl())];
    const start = () => testPort({ drainDelayMs: 100, services });
    let server = await start();
    const ports = [server.port];
    const stop = calling([await balancer(ports)], 3, 2);
    for (let round = 0; round < 4; round++) {
      const next = await start();
      ports.push(next.port);
      const drained = server.drain();
      // The balancer notices late, when the server takes no calls any more, and before it stops to listen.
      await new Promise((resolve) => setTimeout(resolve, 700));
      ports.shift();
      await drained;
      server = next;
    }
    const { called, failures } = await stop();
    await server.drain();
    expect(failures).toEqual([]);
    expect(called).toBeGreaterThan(20);
  }, 60_000);

  it("lose no call while none of them listens for a moment", async () => {
    const services = [register(SessionService, sessionImpl())];
    const first = await testPort({ drainDelayMs: 100, services });
    const stop = calling([first.url], 2, 2);
    await first.drain();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const next = await testPort({ port: first.port, services });
    cleanups.push(() => next.drain());
    const { failures } = await stop();
    expect(failures).toEqual([]);
  });
});
