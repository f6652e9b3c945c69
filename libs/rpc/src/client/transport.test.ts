import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type IncomingHttpHeaders } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { systemCaller } from "@muster/kit";
import { EchoResponseSchema, ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { callOptions } from "../caller/metadata.ts";
import { register } from "../port/registration.ts";
import { toAppError } from "../protocol/errors.ts";
import { deferred, sessionImpl, testMeta, testPort } from "../testing/ports.ts";
import { createTransport, type TransportOptions } from "./transport.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function transportTo(baseUrls: string[], options: Partial<TransportOptions> = {}) {
  const transport = createTransport({ baseUrls, ...options });
  cleanups.push(() => transport.close());
  return transport;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  cleanups.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An HTTP server that answers Echo with its name. */
async function named(name: string) {
  let calls = 0;
  let connections = 0;
  const server = createServer((request, response) => {
    calls++;
    request.resume();
    request.on("end", () => answerEcho(response, name));
  });
  server.on("connection", () => connections++);
  return { url: await listen(server), calls: () => calls, connections: () => connections };
}

function answerEcho(response: ServerResponse, message: string): void {
  response.writeHead(200, { "content-type": "application/proto" });
  response.end(toBinary(EchoResponseSchema, create(EchoResponseSchema, { message })));
}

async function unusedUrl(): Promise<string> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** Cuts each of the first `drops` requests after it was read, answers the others. */
async function dropping(drops: number, before: (response: ServerResponse) => void = () => {}) {
  let seen = 0;
  const connections = new Set<Socket>();
  const server = createServer((request: IncomingMessage, response) => {
    seen++;
    connections.add(request.socket);
    request.resume();
    request.on("end", () => {
      if (seen > drops) return answerEcho(response, "answered");
      before(response);
      request.socket.destroy();
    });
  });
  return { url: await listen(server), seen: () => seen, connections };
}

describe("the transport", () => {
  it("takes several servers in turn", async () => {
    const [a, b, c] = [await named("a"), await named("b"), await named("c")];
    const client = createClient(ProbeService, transportTo([a.url, b.url, c.url]));
    for (let call = 0; call < 9; call++) await client.echo({});
    expect([a.calls(), b.calls(), c.calls()]).toEqual([3, 3, 3]);
  });

  it("passes over a server that refuses, without failing a call", async () => {
    const up = await named("up");
    const client = createClient(ProbeService, transportTo([await unusedUrl(), up.url]));
    for (let call = 0; call < 10; call++) expect((await client.echo({})).message).toBe("up");
    expect(up.calls()).toBe(10);
  });

  it("answers unavailable, to be repeated after 1 s, when no server listens", async () => {
    const client = createClient(ProbeService, transportTo([await unusedUrl()]));
    const error = await client.echo({}).catch(toAppError);
    expect(error).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  });

  it("repeats a harmless call once, on a fresh connection, when no byte came back", async () => {
    const server = await dropping(1);
    const client = createClient(ProbeService, transportTo([server.url], { connections: 1 }));
    expect((await client.echo({})).message).toBe("answered");
    expect(server.seen()).toBe(2);
    expect(server.connections.size).toBe(2);
  });

  it("repeats it only once", async () => {
    const server = await dropping(5);
    const client = createClient(ProbeService, transportTo([server.url]));
    expect(await client.echo({}).catch(toAppError)).toMatchObject({ code: "unavailable" });
    expect(server.seen()).toBe(2);
  });

  it("never repeats a call that may have side effects once it was sent", async () => {
    const server = await dropping(1);
    const client = createClient(SessionService, transportTo([server.url]));
    expect(await client.login({}).catch(toAppError)).toMatchObject({ code: "unavailable" });
    expect(server.seen()).toBe(1);
  });

  it("never repeats a call of which a byte came back", async () => {
    const server = await dropping(1, (response) => response.writeHead(200, { "content-length": "9" }).flushHeaders());
    const client = createClient(ProbeService, transportTo([server.url]));
    expect(await client.echo({}).catch(toAppError)).toMatchObject({ code: "unavailable" });
    expect(server.seen()).toBe(1);
  });

  it("repeats any call whose connection could not be made", async () => {
    const port = await testPort({ services: [register(SessionService, sessionImpl())] });
    cleanups.push(port.drain);
    const client = createClient(SessionService, transportTo([await unusedUrl(), port.url]));
    const token = await port.gateway.tokenFor(systemCaller("gateway"), "identity");
    const options = () => callOptions({ caller: { token }, meta: testMeta, deadlineMs: null });
    for (let call = 0; call < 4; call++) await client.login({}, options());
  });

  it("replaces connections when they reach their age", async () => {
    const server = await named("a");
    const client = createClient(ProbeService, transportTo([server.url], { connections: 1, clientTtlMs: 1 }));
    const deadline = performance.now() + 5_000;
    while (server.connections() < 3 && performance.now() < deadline) await client.echo({});
    expect(server.connections()).toBeGreaterThanOrEqual(3);
  });

  it("makes a call elsewhere that a leaving server has not read, also one that may not be repeated", async () => {
    const leaving = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () =>
        socket.end("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
      );
    });
    let made = 0;
    const staying = createServer((request, response) => {
      made += 1;
      request.resume();
      request.on("end", () => {
        response.writeHead(200, { "content-type": "application/proto" });
        response.end();
      });
    });
    const urls = [await listen(leaving), await listen(staying)];
    const client = createClient(SessionService, transportTo(urls));
    for (let i = 0; i < 4; i++) await client.login({});
    expect(made).toBe(4);
  });

  it("answers unavailable when its time is up while servers refuse it", async () => {
    const client = createClient(ProbeService, transportTo([await unusedUrl()], { patienceMs: 60_000 }));
    const error = await client.echo({}, { timeoutMs: 300 }).catch(toAppError);
    expect(error).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  });

  it("repeats what no server took for as long as its patience lasts, and no more once they are away for longer", async () => {
    let tries = 0;
    let away = true;
    const server = createServer((request, response) => {
      tries += 1;
      request.resume();
      if (away) response.writeHead(408, { connection: "close", "content-length": 0 }).end();
      else request.on("end", () => answerEcho(response, "back"));
    });
    const client = createClient(ProbeService, transportTo([await listen(server)], { patienceMs: 1_000 }));
    const triesOf = async () => {
      tries = 0;
      await expect(client.echo({})).rejects.toThrow();
      return tries;
    };
    expect(await triesOf()).toBeGreaterThan(3);
    expect(await triesOf()).toBe(3);
    away = false;
    expect((await client.echo({})).message).toBe("back");
    away = true;
    expect(await triesOf()).toBeGreaterThan(3);
  });

  it("sends nothing more to a server that answers with Connection: close, while there are others", async () => {
    let last = 0;
    const leaving = createServer((request, response) => {
      last += 1;
      request.resume();
      response.shouldKeepAlive = false;
      answerEcho(response, "leaving");
    });
    const staying = await named("staying");
    const client = createClient(ProbeService, transportTo([await listen(leaving), staying.url]));
    for (let i = 0; i < 10; i++) await client.echo({});
    expect([last, staying.calls()]).toEqual([1, 9]);
  });

  it("keeps connections for short calls while long ones wait", async () => {
    const waiting = deferred();
    let held = 0;
    const server = createServer((request, response) => {
      request.resume();
      if (Number(request.headers["connect-timeout-ms"]) < 15_000) return answerEcho(response, "short");
      if (++held === 3) waiting.resolve();
    });
    const client = createClient(ProbeService, transportTo([await listen(server)], { connections: 1 }));
    const abort = new AbortController();
    const long = [1, 2, 3].map(() => client.echo({}, { timeoutMs: 35_000, signal: abort.signal }).catch(toAppError));
    await waiting.promise;
    expect((await client.echo({}, { timeoutMs: 10_000 })).message).toBe("short");
    abort.abort();
    expect(await Promise.all(long)).toMatchObject([
      { code: "cancelled" },
      { code: "cancelled" },
      { code: "cancelled" },
    ]);
  });

  it("shares its connections among callers, and a call that ends while it waits leaves them to others", async () => {
    const held: ServerResponse[] = [];
    let arrival = deferred();
    const server = createServer((request, response) => {
      request.resume();
      held.push(response);
      arrival.resolve();
    });
    const transport = transportTo([await listen(server)], { connections: 2, isShared: true });
    const client = createClient(ProbeService, transport);
    const of = (clientAddress: string | null, signal = new AbortController().signal) =>
      client
        .echo(
          {},
          callOptions({ caller: { token: "" }, meta: { ...testMeta, clientAddress }, deadlineMs: null, signal }),
        )
        .then(
          ({ message }) => message,
          (error) => toAppError(error).code,
        );
    const leaving = new AbortController();
    const calls = [of("192.0.2.1"), of("192.0.2.1", leaving.signal), of("192.0.2.1"), of("192.0.2.2"), of(null)];
    leaving.abort();
    for (let answered = 0; answered < 4; answered++) {
      if (held.length === answered) await arrival.promise;
      arrival = deferred();
      answerEcho(held[answered] as ServerResponse, String(answered));
    }
    expect(await Promise.all(calls)).toEqual(["0", "cancelled", "3", "1", "2"]);
  });

  it("lets calls end that are in flight on connections of that age", async () => {
    const arrived = deferred();
    const answer = deferred<ServerResponse>();
    let calls = 0;
    const server = createServer((request, response) => {
      request.resume();
      if (calls++ > 0) return answerEcho(response, "second");
      answer.resolve(response);
      arrived.resolve();
    });
    const client = createClient(ProbeService, transportTo([await listen(server)], { clientTtlMs: 1 }));
    const first = client.echo({});
    await arrived.promise;
    expect((await client.echo({})).message).toBe("second");
    answerEcho(await answer.promise, "first");
    expect((await first).message).toBe("first");
  });

  it("hands header and trailer to onHeader and onTrailer", async () => {
    const port = await testPort({
      services: [
        register(
          SessionService,
          sessionImpl({
            login: (_request, context) => {
              context.responseHeader.set("x-cache", "hit");
              context.responseTrailer.set("x-rows", "12");
              return {};
            },
          }),
        ),
      ],
    });
    cleanups.push(port.drain);
    const token = await port.gateway.tokenFor(systemCaller("gateway"), "identity");
    const seen: (string | null)[] = [];
    await createClient(SessionService, transportTo([port.url])).login(
      {},
      {
        ...callOptions({ caller: { token }, meta: testMeta, deadlineMs: null }),
        onHeader: (header) => seen.push(header.get("x-cache"), header.get("trailer-x-rows")),
        onTrailer: (trailer) => seen.push(trailer.get("x-rows")),
      },
    );
    expect(seen).toEqual(["hit", null, "12"]);
  });

  it.each([
    ["a record", { "x-a": "1" }],
    ["pairs", [["X-A", "1"]] as [string, string][]],
    ["Headers", new Headers({ "x-a": "1" })],
  ])("sends headers given as %s", async (_name, headers) => {
    const got = deferred<string | undefined>();
    const server = createServer((request, response) => {
      got.resolve(request.headers["x-a"] as string | undefined);
      answerEcho(response, "");
    });
    await createClient(ProbeService, transportTo([await listen(server)])).echo({}, { headers });
    expect(await got.promise).toBe("1");
  });

  it("ends a call at its timeout and closes its connection, so that the server learns of it", async () => {
    const gone = deferred();
    const server = createServer((request) => void request.socket.on("close", () => gone.resolve()));
    const client = createClient(ProbeService, transportTo([await listen(server)]));
    expect(await client.echo({}, { timeoutMs: 50 }).catch(toAppError)).toMatchObject({ code: "deadline_exceeded" });
    await gone.promise;
  });

  it("ends calls that name no timeout at the default one", async () => {
    const server = createServer(() => {});
    const client = createClient(ProbeService, transportTo([await listen(server)], { defaultTimeoutMs: 50 }));
    expect(await client.echo({}).catch(toAppError)).toMatchObject({ code: "deadline_exceeded" });
  });

  it("ends a call when its signal aborts, before or during", async () => {
    const arrived = deferred();
    const server = createServer(() => arrived.resolve());
    const client = createClient(ProbeService, transportTo([await listen(server)]));
    const abort = new AbortController();
    const call = client.echo({}, { signal: abort.signal }).catch(toAppError);
    await arrived.promise;
    abort.abort();
    expect(await call).toMatchObject({ code: "cancelled" });
    expect(await client.echo({}, { signal: abort.signal }).catch(toAppError)).toMatchObject({ code: "cancelled" });
  });

  it("refuses more calls than may wait", async () => {
    const server = createServer(() => {});
    const client = createClient(
      ProbeService,
      transportTo([await listen(server)], { maxInFlight: 2, defaultTimeoutMs: 100 }),
    );
    const calls = [client.echo({}), client.echo({}), client.echo({})].map((call) =>
      call.catch((error) => toAppError(error).code),
    );
    expect(await Promise.all(calls)).toEqual(["deadline_exceeded", "deadline_exceeded", "overloaded"]);
  });

  it("refuses an answer larger than its cap", async () => {
    const server = createServer((_request, response) => answerEcho(response, "x".repeat(5_000)));
    const client = createClient(ProbeService, transportTo([await listen(server)], { maxResponseBytes: 1_000 }));
    await expect(client.echo({})).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it.each([
    [502, "text/html", "<html>", "unavailable"],
    [404, "text/plain", "", "unavailable"],
    [500, "application/json", "{", "internal"],
    [200, "text/html", "<html>", "internal"],
    [200, "application/proto", "\xff\xff", "internal"],
  ])("turns an answer %s %s that is not Connect into an error", async (status, type, body, code) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { "content-type": type }).end(body, "latin1");
    });
    const error = await createClient(ProbeService, transportTo([await listen(server)]))
      .echo({})
      .catch(toAppError);
    expect(error).toMatchObject({ code });
  });

  it("requests streams that are not compressed", async () => {
    const received = deferred<IncomingHttpHeaders>();
    const server = createHttp2Server();
    server.on("stream", (stream, headers) => {
      received.resolve(headers);
      stream.respond({ ":status": 503 }, { endStream: true });
    });
    const client = createClient(ProbeService, transportTo([await listen(server)], { patienceMs: 0 }));
    const answers = client.echoStream({ message: "once", count: 1 })[Symbol.asyncIterator]();
    await expect(answers.next()).rejects.toMatchObject({ code: Code.Unavailable });
    const headers = await received.promise;
    expect(headers[":path"]).toMatch(/EchoStream$/);
    expect(headers).not.toHaveProperty("connect-accept-encoding");
  });

  it("opens a stream at once while very many others of the same service are read slowly", async () => {
    const port = await testPort();
    cleanups.push(() => port.drain());
    const caller = systemCaller("gateway");
    const headers = { "muster-caller": await port.gateway.tokenFor(caller, "identity") };
    const client = createClient(ProbeService, transportTo([port.url]));
    const abort = new AbortController();
    const message = "x".repeat(60_000);
    const slow = Array.from({ length: 300 }, () =>
      client.echoStream({ message, count: 40 }, { headers, signal: abort.signal })[Symbol.asyncIterator](),
    );
    const started = await Promise.all(slow.map((each) => each.next()));
    expect(started.filter(({ done }) => !done)).toHaveLength(300);
    const whole: string[] = [];
    for await (const each of client.echoStream({ message, count: 40 }, { headers })) whole.push(each.message);
    expect(whole).toHaveLength(40);
    abort.abort();
    await Promise.allSettled(slow.map((each) => each.next()));
  });

  it("ends what it left open when it is closed", async () => {
    const server = createHttp2Server();
    const [started, ended] = [deferred<void>(), deferred<void>()];
    server.on("session", (session) => session.once("close", ended.resolve));
    server.on("stream", (stream) => {
      stream.on("error", () => undefined);
      started.resolve();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    const transport = createTransport({ baseUrls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`] });
    const reading = createClient(ProbeService, transport)
      .echoStream({ message: "once", count: 1 })
      [Symbol.asyncIterator]()
      .next()
      .catch(() => "ended");
    await started.promise;
    await transport.close();
    await ended.promise;
    expect(await reading).toBe("ended");
  });

  it("leaves no rejection without a listener when a stream is ended before it is read", async () => {
    const unheard: unknown[] = [];
    const note = (reason: unknown) => void unheard.push(reason);
    process.on("unhandledRejection", note);
    const arrived = deferred();
    const ended = deferred();
    const server = createHttp2Server();
    server.on("stream", (stream) => {
      stream.once("close", ended.resolve);
      stream.on("error", () => undefined);
      arrived.resolve();
    });
    const client = createClient(ProbeService, transportTo([await listen(server)]));
    const abort = new AbortController();
    client.echoStream({ message: "once", count: 1 }, { signal: abort.signal });
    await arrived.promise;
    abort.abort();
    await ended.promise;
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(unheard).toEqual([]);
  });

  it("refuses base URLs that are none", () => {
    expect(() => createTransport({ baseUrls: [] })).toThrow("No base URL");
    expect(() => createTransport({ baseUrls: ["http://x/path"] })).toThrow("Not a base URL");
  });
});

describe("call options", () => {
  const call = { caller: { token: "t" }, meta: testMeta };

  it("forward the remaining deadline, less 20 ms", () => {
    const { timeoutMs = 0 } = callOptions({ ...call, deadlineMs: performance.now() + 1_000 });
    expect(timeoutMs).toBeGreaterThan(900);
    expect(timeoutMs).toBeLessThanOrEqual(980);
  });

  it("refuse a call with less than 20 ms left", () => {
    expect(() => callOptions({ ...call, deadlineMs: performance.now() + 19 })).toThrow("Deadline exceeded");
    expect(() => callOptions({ ...call, deadlineMs: performance.now() - 1 })).toThrow("Deadline exceeded");
  });

  it("leave the timeout to the transport when there is no deadline", () => {
    expect(callOptions({ ...call, deadlineMs: null })).not.toHaveProperty("timeoutMs");
  });

  it("carry metadata as headers that can be sent, whatever the client called itself", () => {
    const meta = {
      requestId: "r",
      clientAddress: null,
      userAgent: `b\u0000\r\nx: y\u2603${"z".repeat(2_000)}`,
      traceparent: null,
    };
    const { headers } = callOptions({ ...call, meta, deadlineMs: null });
    expect(headers["muster-user-agent"]).toMatch(/^b\?\?\?x: y\?z+$/);
    expect(headers["muster-user-agent"]).toHaveLength(512);
    expect(Object.keys(headers).sort()).toEqual(["muster-caller", "muster-request-id", "muster-user-agent"]);
  });
});
