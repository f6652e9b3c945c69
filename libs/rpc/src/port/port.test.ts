import { constants, connect as h2Connect } from "node:http2";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "@jest/globals";
import { systemCaller } from "@muster/kit";
import { Health, HealthCheckResponse_ServingStatus as Status } from "@muster/proto/grpc/health/v1/health_pb";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { callOptions } from "../caller/metadata.ts";
import { createTransport, type RpcTransport } from "../client/transport.ts";
import { toAppError } from "../protocol/errors.ts";
import { deferred, sessionImpl, type TestPort, testMeta, testPort, wire } from "../testing/ports.ts";
import type { PortOptions } from "./port.ts";
import { register } from "./registration.ts";

let port: TestPort | undefined;
let transport: RpcTransport | undefined;
afterEach(async () => {
  await transport?.close();
  transport = undefined;
  await port?.drain();
});

async function open(options: Partial<PortOptions> = {}): Promise<TestPort> {
  port = await testPort(options);
  return port;
}

const getInfo =
  "POST /muster.common.v1.ProbeService/GetInfo HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\ncontent-length: 0\r\n\r\n";
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const settingsFrame = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

/** A session call whose handler waits; returns a way to end it. */
function waiting() {
  const started = deferred();
  const release = deferred();
  const impl = sessionImpl({
    login: async () => {
      started.resolve();
      await release.promise;
      return { tokens: { accessToken: "done" } };
    },
  });
  return { started: started.promise, release: () => release.resolve(), services: [register(SessionService, impl)] };
}

const options = async (to: TestPort) =>
  callOptions({
    caller: { token: await to.gateway.tokenFor(systemCaller("gateway"), "identity") },
    meta: testMeta,
    deadlineMs: null,
  });

describe("one port", () => {
  it("recognises HTTP/2 when the preface arrives byte by byte", async () => {
    const raw = wire((await open()).port);
    for (const byte of preface.slice(0, 5)) {
      await new Promise((resolve) => raw.socket.write(byte, resolve));
    }
    raw.socket.write(preface.slice(5));
    raw.socket.write(settingsFrame);
    // The server's own SETTINGS frame (type 4), then its acknowledgement of ours (flag 1, empty).
    await raw.until("\x00\x00\x00\x04\x01\x00\x00\x00\x00");
    raw.socket.destroy();
  });

  it("recognises HTTP/1.1 when the request line arrives byte by byte, and pipelined requests after it", async () => {
    const raw = wire((await open()).port);
    for (const byte of getInfo.slice(0, 6)) await new Promise((resolve) => raw.socket.write(byte, resolve));
    raw.socket.write(getInfo.slice(6) + getInfo);
    expect(await raw.until("1.2.3")).toMatch(/^HTTP\/1.1 200 OK/);
    raw.socket.write(getInfo);
    await raw.until("HTTP/1.1 200 OK");
    raw.socket.destroy();
  });

  it("answers 400 to bytes that are no HTTP", async () => {
    const raw = wire((await open()).port);
    raw.socket.write("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n");
    expect(await raw.until("\r\n\r\n")).toMatch(/^HTTP\/1.1 400 /);
    await raw.closed;
  });

  it("closes a connection that stays silent, or ends, before its first three bytes", async () => {
    const to = await open({ limits: { firstBytesMs: 50 } });
    const silent = wire(to.port);
    const two = wire(to.port);
    two.socket.write("PR");
    const ended = wire(to.port);
    ended.socket.end("P");
    await Promise.all([silent.closed, two.closed, ended.closed]);
    expect(silent.received() + two.received() + ended.received()).toBe("");
  });

  it("answers 408 to headers that come too slowly and closes", async () => {
    const raw = wire((await open({ limits: { headersMs: 100 } })).port);
    raw.socket.write("POST /x HTTP/1.1\r\nhost: x\r\n");
    await raw.closed;
    expect(raw.received()).toMatch(/^HTTP\/1.1 408 /);
  });

  it("closes HTTP/1.1 and HTTP/2 connections whose client has ended its side", async () => {
    const to = await open();
    const http1 = wire(to.port);
    http1.socket.write(getInfo);
    await http1.until("1.2.3");
    http1.socket.end();
    await http1.closed;
    const http2 = wire(to.port);
    http2.socket.write(preface);
    http2.socket.write(settingsFrame);
    await http2.until("\x00\x00\x00\x04\x01\x00\x00\x00\x00");
    http2.socket.end();
    await http2.closed;
  });

  it("drops connections beyond its cap", async () => {
    const to = await open({ limits: { maxConnections: 1 } });
    const first = wire(to.port);
    first.socket.write(getInfo);
    await first.until("1.2.3");
    await wire(to.port).closed;
    first.socket.destroy();
  });

  it("takes 60 KB of headers in HTTP/1.1 and HTTP/2", async () => {
    const to = await open();
    transport = createTransport({ baseUrls: [to.url] });
    const h2 = createConnectTransport({ baseUrl: to.url, httpVersion: "2", idleConnectionTimeoutMs: 1 });
    const headers = { "x-large": "x".repeat(60_000) };
    for (const each of [transport, h2]) {
      expect(await createClient(ProbeService, each).echo({ message: "hi" }, { headers })).toMatchObject({
        message: "hi",
      });
    }
  });

  it("refuses an address that is taken", async () => {
    const to = await open();
    await expect(testPort({ port: to.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  it("answers 404 to an unknown path on the short path's terms", async () => {
    const raw = wire((await open()).port);
    raw.socket.write(getInfo.replace("GetInfo", "Nothing"));
    expect(await raw.until("\r\n\r\n")).toMatch(/^HTTP\/1.1 404 /);
    raw.socket.destroy();
  });
});

describe("health", () => {
  it("follows readiness, for the process and each service it serves", async () => {
    const to = await open({ services: [register(SessionService, sessionImpl())] });
    transport = createTransport({ baseUrls: [to.url] });
    const health = createClient(Health, transport);
    for (const service of ["", "muster.identity.v1.SessionService", "muster.common.v1.ProbeService"]) {
      expect(await health.check({ service })).toMatchObject({ status: Status.SERVING });
    }
    to.readiness.set("draining");
    expect(await health.check({})).toMatchObject({ status: Status.NOT_SERVING });
    await expect(health.check({ service: "nobody" })).rejects.toMatchObject({ rawMessage: "Unknown service" });
  });

  it("notifies watchers of every change", async () => {
    const to = await open();
    transport = createTransport({ baseUrls: [to.url] });
    const abort = new AbortController();
    const seen: Status[] = [];
    const watching = (async () => {
      for await (const { status } of createClient(Health, transport as RpcTransport).watch(
        {},
        { signal: abort.signal },
      )) {
        seen.push(status);
        if (seen.length === 1) to.readiness.set("draining");
        if (seen.length === 2) to.readiness.set("ready");
        if (seen.length === 3) abort.abort();
      }
    })();
    await expect(watching).rejects.toMatchObject({ rawMessage: expect.stringContaining("abort") });
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING]);
  });

  it("answers SERVICE_UNKNOWN to the watcher of an unknown service", async () => {
    const to = await open();
    transport = createTransport({ baseUrls: [to.url] });
    const seen: Status[] = [];
    for await (const { status } of createClient(Health, transport).watch({ service: "nobody" })) seen.push(status);
    expect(seen).toEqual([Status.SERVICE_UNKNOWN]);
  });
});

describe("drain", () => {
  it("answers unavailable where a dependency of a handler is closed already", async () => {
    const impl = sessionImpl({ login: () => Promise.reject(new Error("closed before")) });
    const to = await open({ services: [register(SessionService, impl)] });
    transport = createTransport({ baseUrls: [to.url] });
    const client = createClient(SessionService, transport);
    const codeOf = async () => {
      const call = client.login({}, await options(to));
      return call.then(
        () => "ok",
        (error: unknown) => toAppError(error).code,
      );
    };
    expect(await codeOf()).toBe("internal");
    to.readiness.set("draining");
    expect(await codeOf()).toBe("unavailable");
  });

  it("reports NOT_SERVING, still serves during the delay with Connection: close, then refuses", async () => {
    const to = await open({ drainDelayMs: 300 });
    transport = createTransport({ baseUrls: [to.url] });
    const watcher = createClient(Health, transport).watch({})[Symbol.asyncIterator]();
    expect((await watcher.next()).value).toMatchObject({ status: Status.SERVING });
    const draining = to.drain();
    expect((await watcher.next()).value).toMatchObject({ status: Status.NOT_SERVING });
    const late = wire(to.port);
    late.socket.write(getInfo);
    expect((await late.until("1.2.3")).toLowerCase()).toContain("connection: close");
    await late.closed;
    expect((await watcher.next()).done).toBe(true);
    await draining;
    const refused = wire(to.port);
    const error = deferred<NodeJS.ErrnoException>();
    refused.socket.on("error", error.resolve);
    expect((await error.promise).code).toBe("ECONNREFUSED");
  });

  it("sends GOAWAY to live http2 sessions, lets their calls end and then closes them", async () => {
    const call = waiting();
    const to = await open({ services: call.services, graceMs: 10_000 });
    const session = h2Connect(to.url);
    const goaway = deferred<number>();
    session.on("goaway", goaway.resolve);
    const stream = session.request({
      ":method": "POST",
      ":path": "/muster.identity.v1.SessionService/Login",
      "content-type": "application/proto",
      ...(await options(to)).headers,
    });
    const status = deferred<unknown>();
    stream.on("response", (headers) => status.resolve(headers[":status"]));
    stream.end();
    stream.resume();
    await call.started;
    const closed = new Promise((resolve) => session.on("close", resolve));
    const drained = to.drain();
    expect(await goaway.promise).toBe(constants.NGHTTP2_NO_ERROR);
    call.release();
    expect(await status.promise).toBe(200);
    await Promise.all([closed, drained]);
  });

  it("lets HTTP/1.1 calls end, closes idle connections at once and undecided ones too", async () => {
    const call = waiting();
    const to = await open({ services: call.services, graceMs: 10_000 });
    transport = createTransport({ baseUrls: [to.url] });
    const answer = createClient(SessionService, transport).login({}, await options(to));
    await call.started;
    const idle = wire(to.port);
    idle.socket.write(getInfo);
    await idle.until("1.2.3");
    const undecided = wire(to.port);
    undecided.socket.write("P");
    // Connections are taken in their order: once a later one is served, the one before is not in the listener's queue
    // any more.
    const later = wire(to.port);
    later.socket.write(getInfo);
    await later.until("1.2.3");
    const drained = to.drain();
    // What crosses this on the way was not read, and its client knows.
    await Promise.all([idle.until("408 Request Timeout"), undecided.until("408 Request Timeout")]);
    await Promise.all([idle.closed, undecided.closed]);
    call.release();
    expect(await answer).toMatchObject({ tokens: { accessToken: "done" } });
    await drained;
  });

  it("closes the remaining connections after the grace, and handlers are notified", async () => {
    const aborted = deferred();
    const impl = sessionImpl({
      login: (_request, context) => {
        context.signal.addEventListener("abort", () => aborted.resolve());
        started.resolve();
        return new Promise(() => {});
      },
    });
    const started = deferred();
    const to = await open({ services: [register(SessionService, impl)], graceMs: 50 });
    transport = createTransport({ baseUrls: [to.url] });
    const call = createClient(SessionService, transport).login({}, await options(to));
    const failed = expect(call).rejects.toMatchObject({ rawMessage: "Service is unavailable" });
    await started.promise;
    await to.drain();
    await Promise.all([aborted.promise, failed]);
  });

  it("closes http2 sessions that hold a stream open after the grace", async () => {
    const call = waiting();
    const to = await open({ services: call.services, graceMs: 50 });
    const h2 = createConnectTransport({ baseUrl: to.url, httpVersion: "2", useBinaryFormat: true });
    const rejected = expect(createClient(SessionService, h2).login({}, await options(to))).rejects.toThrow();
    await call.started;
    await to.drain();
    await rejected;
  });
});
