import { createClient } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { toAppError } from "./errors.ts";
import { register } from "./registration.ts";
import { sessionImpl, type TestPort, testPort } from "./testing/ports.ts";
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

describe("servers that are replaced one after the other", () => {
  it("lose no call, also none that may not be repeated", async () => {
    const services = [register(SessionService, sessionImpl())];
    const start = (port = 0) => testPort({ port, drainDelayMs: 100, services });
    const servers = [await start(), await start()] as [TestPort, TestPort];
    cleanups.push(() => Promise.all(servers.map((server) => server.drain())));
    // Connections of an age that makes every few calls open one.
    const baseUrls = servers.map(({ url }) => url);
    const transports = Array.from({ length: 3 }, () => createTransport({ baseUrls, clientTtlMs: 20 }));
    cleanups.push(() => Promise.all(transports.map((transport) => transport.close())));
    const load = busy();
    cleanups.push(() => clearInterval(load));

    let going = true;
    let called = 0;
    const failures: unknown[] = [];
    const clients = transports.flatMap((transport) =>
      [1, 2, 3].map(async () => {
        const client = createClient(SessionService, transport);
        while (going) {
          called += 1;
          // Each server of this test has a key of its own, so that these calls are refused, which is an answer, too.
          await client.login({}).catch((error: unknown) => {
            if (toAppError(error).code !== "unauthenticated") failures.push(error);
          });
        }
      }),
    );
    for (let round = 0; round < 12; round++) {
      const at = round % 2;
      const { port, drain } = servers[at] as TestPort;
      await drain();
      servers[at] = await start(port);
    }
    going = false;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    expect(called).toBeGreaterThan(200);
  }, 60_000);
});
