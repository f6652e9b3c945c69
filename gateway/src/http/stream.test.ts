import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { z } from "zod";
import { Streamed } from "../route/reply.ts";
import { route } from "../route/route.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { openSocket } from "../testing/raw-http.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { sendStream } from "./send-reply.ts";

let made = 0;
let ended = 0;
let wanted = 0;
let failsAt = Number.POSITIVE_INFINITY;
let signal: AbortSignal | undefined;

async function* body() {
  try {
    for (let n = 0; n < wanted; n++) {
      if (n === failsAt) throw new Error("the source failed");
      made += 1;
      yield Buffer.alloc(64 * 1024, (n % 26) + 97);
    }
  } finally {
    ended += 1;
  }
}

const file = route({
  method: "GET",
  path: "/test/file",
  access: { auth: "none" },
  tag: "Platform",
  summary: "A file",
  reply: z.string(),
  noStore: true,
  async handle({ rpc }) {
    ({ signal } = await rpc());
    return new Streamed("text/plain", ["X-Part", "one"], body());
  },
});

let services: FakeServices;
let gateway: TestGateway;
beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, {
    routes: [file],
    env: { EVENT_LOOP_LAG_MAX_MS: "10000", REPLY_STALL_TIMEOUT_MS: "4000" },
  });
});
afterAll(async () => {
  await gateway.close();
  await services.close();
});
const url = () => `${gateway.url}/api/v1/test/file`;
function reset(count: number, failing = Number.POSITIVE_INFINITY) {
  [made, ended, wanted, failsAt] = [0, 0, count, failing];
}

describe("a streamed reply", () => {
  it("is ended when its client receives nothing, and its slot freed", async () => {
    reset(2_000);
    const socket = await openSocket(gateway.port);
    socket.pause();
    socket.write("GET /api/v1/test/file HTTP/1.1\r\nHost: a\r\n\r\n");
    await until("the reply to be aborted", () => ended === 1);
    expect(made).toBeLessThan(2_000);
    socket.destroy();
  });

  it("carries its headers and all of its bytes in order", async () => {
    reset(40);
    const reply = await fetch(url());
    const text = await reply.text();
    expect([reply.status, reply.headers.get("content-type"), reply.headers.get("x-part")]).toEqual([
      200,
      "text/plain",
      "one",
    ]);
    expect([reply.headers.get("cache-control"), reply.headers.get("transfer-encoding")]).toEqual([
      "no-store",
      "chunked",
    ]);
    expect(reply.headers.get("x-request-id")).toBeTruthy();
    expect([text.length, made, ended]).toEqual([40 * 65_536, 40, 1]);
  });

  it("reads its source no faster than the client receives", async () => {
    reset(2_000);
    const before = process.memoryUsage().rss;
    const client = request(url());
    client.end();
    const response = await new Promise<import("node:http").IncomingMessage>((resolve) =>
      client.once("response", resolve),
    );
    response.pause();
    let last = -1;
    await until("the source to be left alone", async () => {
      const still = made === last && made > 0;
      last = made;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return still;
    });
    // 128 MB in all; what was made is what sockets hold.
    expect(made).toBeLessThan(300);
    response.resume();
    await new Promise((resolve) => response.once("end", resolve));
    expect([made, ended]).toEqual([2_000, 1]);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_048_576);
  });

  it("ends its source when the client disconnects", async () => {
    reset(100_000);
    const socket = await openSocket(gateway.port);
    socket.write("GET /api/v1/test/file HTTP/1.1\r\nHost: a\r\n\r\n");
    await until("the first bytes", () => made > 0);
    socket.destroy();
    await until("the source to be ended", () => ended === 1);
  });

  it("is no failure when its client disconnects, although that cancels its source", async () => {
    async function* cancelled(left: Promise<unknown>) {
      yield Buffer.from("all that there is");
      await left;
      throw new Error("cancelled");
    }
    const server = createServer();
    const failed = new Promise((resolve) => {
      server.once("request", (_request, response) => {
        const source = new Streamed("text/plain", [], cancelled(once(response, "close")));
        sendStream(response, 200, "1", source, null, 4_000).then(() => resolve(null), resolve);
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const socket = await openSocket((server.address() as AddressInfo).port);
    const answered = once(socket, "data");
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await answered;
    socket.destroy();
    expect(await failed).toBeNull();
    server.close();
  });

  it("does not look complete when it fails midway", async () => {
    reset(10, 3);
    const reply = await fetch(url());
    expect(reply.status).toBe(200);
    await expect(reply.text()).rejects.toThrow();
    expect(ended).toBe(1);
  });

  it("has headers without a body for HEAD", async () => {
    reset(10);
    const reply = await fetch(url(), { method: "HEAD" });
    expect([reply.status, reply.headers.get("x-part"), await reply.text()]).toEqual([200, "one", ""]);
    expect(made).toBe(0);
    await until("the end of calls to services", () => signal?.aborted === true);
  });
});
