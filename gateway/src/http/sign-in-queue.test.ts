import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { gauge } from "@muster/kit";
import { until } from "@muster/testing";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { openSocket, rawRequest } from "../testing/raw-http.ts";
import { startTestGateway } from "../testing/test-gateway.ts";
import { createSignInQueue, type SignInQueue } from "./sign-in-queue.ts";

type Reply = EventEmitter & Pick<ServerResponse, "once" | "off">;
const reply = () => new EventEmitter() as Reply;

/** Records each name when it starts. */
function noting(signIns: SignInQueue) {
  const started: string[] = [];
  const come = (name: string, address: string | null, response = reply()) =>
    Promise.resolve(signIns.enter(address, response)).then(() => {
      started.push(name);
    });
  return { started, come };
}
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "started",
    (error: { code?: string }) => error.code,
  );

describe("queued requests", () => {
  it("start immediately when they arrive alone", () => {
    expect(createSignInQueue({ perSecond: 1, queuedMax: 2 }).enter("192.0.2.1", reply())).toBeNull();
  });

  it("let the event loop serve others in between, also when it was late", async () => {
    const { started, come } = noting(createSignInQueue({ perSecond: 1_000, queuedMax: 100 }));
    const all = Promise.all(Array.from({ length: 6 }, (_, at) => come(`${at}`, "192.0.2.1")));
    let most = 0;
    for (let before = 0; started.length < 6; before = started.length) {
      const blockedMs = performance.now() + 10;
      while (performance.now() < blockedMs);
      await new Promise(setImmediate);
      most = Math.max(most, started.length - before);
    }
    await all;
    expect([started, most]).toEqual([["0", "1", "2", "3", "4", "5"], 1]);
  });

  it("start at a limited rate per second", async () => {
    const { come } = noting(createSignInQueue({ perSecond: 100, queuedMax: 100 }));
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: 11 }, () => come("x", null)));
    // Ten pauses; a timer may be a millisecond early.
    expect(performance.now() - startedMs).toBeGreaterThan(89);
  });

  it("start round-robin by address, with an IPv6 /64 as one address, however many one address sent", async () => {
    const { started, come } = noting(createSignInQueue({ perSecond: 1_000, queuedMax: 100 }));
    await Promise.all([
      ...["a1", "a2", "a3"].map((name) => come(name, "192.0.2.1")),
      come("v6-1", "2001:db8::1"),
      come("v6-2", "2001:db8::2"),
      come("b1", "192.0.2.2"),
      come("nowhere", null),
    ]);
    expect(started).toEqual(["a1", "a2", "v6-1", "b1", "nowhere", "a3", "v6-2"]);
  });

  it("are skipped when their clients disconnect, without a gap, and never start", async () => {
    const { started, come } = noting(createSignInQueue({ perSecond: 20, queuedMax: 10 }));
    const responses = [1, 2, 3].map(reply);
    const first = come("first", "a");
    const leaving = responses.map((response, at) => codeOf(come(`left ${at}`, "a", response)));
    for (const response of responses) response.emit("close");
    expect(await Promise.all(leaving)).toEqual(["bad_request", "bad_request", "bad_request"]);
    const startedMs = performance.now();
    await Promise.all([first, come("last", "a")]);
    expect(started).toEqual(["first", "last"]);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(responses.map((response) => response.listenerCount("close"))).toEqual([0, 0, 0]);
  });

  it("from two addresses that queue all they may are no reason to refuse a third one", async () => {
    const signIns = createSignInQueue({ perSecond: 1_000, queuedMax: 64 });
    const codes: (string | undefined)[] = [];
    const queue = (count: number, address: string) =>
      Array.from({ length: count }, async () => codeOf((async () => signIns.enter(address, reply()))()));
    const flood = [...queue(200, "192.0.2.1"), ...queue(200, "192.0.2.2")];
    codes.push(...(await Promise.all([...queue(1, "192.0.2.3"), ...queue(1, "192.0.2.4")])));
    expect(codes).toEqual(["started", "started"]);
    expect((await Promise.all(flood)).filter((code) => code === "overloaded").length).toBeGreaterThan(300);
  });

  it("are refused with Retry-After when too many wait, or half of them from one address", async () => {
    const signIns = createSignInQueue({ perSecond: 100, queuedMax: 4 });
    const { come } = noting(signIns);
    const started = [come("running", "a"), come("a", "a"), come("a", "a")];
    expect(() => signIns.enter("a", reply())).toThrow(
      expect.objectContaining({ code: "overloaded", retryAfterSeconds: expect.any(Number) }),
    );
    started.push(come("b", "b"), come("c", "c"));
    expect(() => signIns.enter("d", reply())).toThrow(expect.objectContaining({ code: "overloaded" }));
    await Promise.all(started);
    expect(await codeOf(come("later", "a"))).toBe("started");
  });
});

describe("a gateway with many concurrent sign-ins", () => {
  let services: FakeServices;
  beforeAll(async () => {
    services = await startFakeServices();
  });
  afterAll(() => services?.close());

  const body = JSON.stringify({ email: "a@example.com", password: "x" });
  const lines = [
    "POST /api/v1/auth/login HTTP/1.1",
    "Host: api.test",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];

  let arrived = 0;
  beforeEach(() => {
    arrived = 0;
    services.identity.login = () => {
      arrived += 1;
      return { mfaToken: "mfa_x", methods: ["totp"] };
    };
  });
  const withGateway = async (env: Record<string, string>, test: (port: number) => Promise<void>) => {
    const gateway = await startTestGateway(services, { env });
    await test(gateway.port).finally(() => gateway.close());
  };

  it("continues to serve other requests, and answers all sign-ins", () =>
    withGateway({ SIGN_INS_STARTED_PER_SECOND: "20" }, async (port) => {
      const { secret } = services.newKey();
      const replies = Array.from({ length: 20 }, () => rawRequest(port, lines, body));
      await until("the first sign-in to arrive", async () => arrived > 0);
      const me = ["GET /api/v1/auth/me HTTP/1.1", "Host: api.test", `X-API-Key: ${secret}`];
      expect((await rawRequest(port, me)).status).toBe(200);
      expect(arrived).toBeLessThan(20);
      expect(new Set((await Promise.all(replies)).map(({ status }) => status))).toEqual(new Set([200]));
      expect(arrived).toBe(20);
    }));

  it("refuses sign-ins beyond the maximum immediately with 503 and Retry-After", () =>
    withGateway({ SIGN_INS_STARTED_PER_SECOND: "1", SIGN_INS_QUEUED_MAX: "2" }, async (port) => {
      const replies = await Promise.all(Array.from({ length: 10 }, () => rawRequest(port, lines, body)));
      const refused = replies.filter(({ status }) => status === 503);
      expect(refused.length).toBeGreaterThan(0);
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(10 - refused.length);
      expect(refused[0]?.json.code).toBe("overloaded");
      expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(arrived).toBe(10 - refused.length);
    }));

  it("starts no request whose client has disconnected", () =>
    withGateway({ SIGN_INS_STARTED_PER_SECOND: "2" }, async (port) => {
      expect((await rawRequest(port, lines, body)).status).toBe(200);
      const sockets = await Promise.all(Array.from({ length: 6 }, () => openSocket(port)));
      for (const socket of sockets) socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
      const waiting = async () => (await gauge("muster_gateway_login_queue_requests", "").get()).values[0]?.value ?? 0;
      await until("sign-ins to wait", async () => (await waiting()) > 0);
      for (const socket of sockets) socket.destroy();
      await until("no sign-in to wait", async () => (await waiting()) === 0);
      expect((await rawRequest(port, lines, body)).status).toBe(200);
      expect(arrived).toBeLessThan(8);
    }));
});
