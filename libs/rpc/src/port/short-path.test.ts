import { gunzipSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { AppError, systemCaller } from "@muster/kit";
import { EchoRequestSchema, EchoResponseSchema } from "@muster/proto/muster/common/v1/probe_pb";
import {
  GetJwksResponseSchema,
  LoginRequestSchema,
  LoginResponseSchema,
  SessionService,
} from "@muster/proto/muster/identity/v1/session_pb";
import { request as httpRequest } from "undici";
import { callContext } from "../caller/call-context.ts";
import { metadataNames } from "../caller/metadata.ts";
import { toAppError } from "../protocol/errors.ts";
import { deferred, sessionImpl, type TestPort, testPort, wire } from "../testing/ports.ts";
import type { PortOptions } from "./port.ts";
import { register } from "./registration.ts";

let port: TestPort | undefined;
afterEach(() => port?.drain());

async function serve(impl: Partial<ServiceImpl<typeof SessionService>> = {}, options: Partial<PortOptions> = {}) {
  port = await testPort({ services: [register(SessionService, sessionImpl(impl))], ...options });
  return port;
}

async function post(to: TestPort, path: string, body: Uint8Array, headers: Record<string, string> = {}) {
  const answer = await httpRequest(`${to.url}/${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/proto",
      "connect-protocol-version": "1",
      [metadataNames.caller]: await to.gateway.tokenFor(systemCaller("gateway"), "identity"),
      ...headers,
    },
    body,
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const fallback = new ConnectError("no error in the body", Code.Unknown);
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes,
    error: () => errorFromJsonBytes(bytes, undefined, fallback),
  };
}

const echoPath = "muster.common.v1.ProbeService/Echo";
const loginPath = "muster.identity.v1.SessionService/Login";
const echo = (message: string) => toBinary(EchoRequestSchema, create(EchoRequestSchema, { message }));
const login = toBinary(LoginRequestSchema, create(LoginRequestSchema, { email: "ada@example.com" }));

describe("the short path", () => {
  it("answers a unary call with exactly the message, its type and its length", async () => {
    const answer = await post(await serve(), echoPath, echo("héllo"));
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "application/proto",
      "content-length": String(answer.bytes.length),
    });
    expect(fromBinary(EchoResponseSchema, answer.bytes).message).toBe("héllo");
  });

  it("passes handlers caller, metadata, deadline, request headers and context values", async () => {
    const key = createContextKey("nothing");
    const seen = deferred<{
      context: HandlerContext;
      call: ReturnType<typeof callContext>;
      at: number;
      value: string;
    }>();
    const to = await serve({
      login: (_request, context) => {
        context.values.set(key, "kept");
        seen.resolve({ context, call: callContext(context), at: performance.now(), value: context.values.get(key) });
        return {};
      },
    });
    await post(to, loginPath, login, {
      "connect-timeout-ms": "5000",
      [metadataNames.requestId]: "req-9",
      [metadataNames.clientAddress]: "192.0.2.9",
      [metadataNames.userAgent]: "curl/8",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      [metadataNames.idempotencyKey]: "key-9",
    });
    const { context, call, at, value } = await seen.promise;
    expect(call.caller.actor).toMatchObject({ type: "system", id: "gateway" });
    expect(call.meta).toEqual({
      requestId: "req-9",
      clientAddress: "192.0.2.9",
      userAgent: "curl/8",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      idempotencyKey: "key-9",
    });
    expect((call.deadlineMs ?? 0) - at).toBeGreaterThan(4_000);
    expect((call.deadlineMs ?? 0) - at).toBeLessThanOrEqual(5_000);
    expect(context.timeoutMs()).toBeLessThanOrEqual(5_000);
    expect(context.requestHeader.get("connect-protocol-version")).toBe("1");
    expect(context.method.name).toBe("Login");
    expect(context.service.typeName).toBe("muster.identity.v1.SessionService");
    expect(context.url).toBe(`${to.url}/${loginPath}`);
    expect(value).toBe("kept");
  });

  it("aborts a handler's signal when the call is over, so that nothing it started goes on", async () => {
    const signals: AbortSignal[] = [];
    const to = await serve({
      login: (_request, context) => {
        signals.push(context.signal);
        return {};
      },
    });
    await post(to, loginPath, login);
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
  });

  it("sends a handler's headers, and its trailers as trailer- headers", async () => {
    const to = await serve({
      login: (_request, context) => {
        context.responseHeader.set("x-cache", "hit");
        context.responseHeader.set("content-length", "1");
        context.responseTrailer.set("x-rows", "12");
        return {};
      },
    });
    const answer = await post(to, loginPath, login);
    expect(answer.headers).toMatchObject({ "x-cache": "hit", "trailer-x-rows": "12", "content-length": "0" });
  });

  it("refuses a body whose length is announced as too large without reading it", async () => {
    const to = await serve({}, { limits: { maxBodyBytes: 1_000 } });
    const answer = await post(to, echoPath, echo("x".repeat(2_000)));
    expect(answer.status).toBe(429);
    expect(answer.error().code).toBe(Code.ResourceExhausted);
    expect((await post(to, echoPath, echo("small"))).status).toBe(200);
  });

  it("refuses a chunked body at the byte that is too much", async () => {
    const to = await serve({}, { limits: { maxBodyBytes: 1_000 } });
    const raw = wire(to.port);
    raw.socket.write(`POST /${echoPath} HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n`);
    raw.socket.write(`transfer-encoding: chunked\r\n\r\n3e9\r\n${"x".repeat(1001)}\r\n`);
    const text = await raw.until("resource_exhausted");
    expect(text).toMatch(/^HTTP\/1.1 429 /);
    raw.socket.destroy();
  });

  it("inflates gzip, and refuses what inflates beyond the body cap or is no gzip", async () => {
    const to = await serve({}, { limits: { maxBodyBytes: 10_000 } });
    const gzip = { "content-encoding": "gzip" };
    const good = await post(to, echoPath, gzipSync(echo("x".repeat(9_000))), gzip);
    expect(fromBinary(EchoResponseSchema, good.bytes).message).toHaveLength(9_000);
    const bomb = await post(to, echoPath, gzipSync(echo("x".repeat(5_000_000))), gzip);
    expect(bomb.error().code).toBe(Code.ResourceExhausted);
    const broken = await post(to, echoPath, Buffer.from("not gzip"), gzip);
    expect(broken.error().code).toBe(Code.InvalidArgument);
  });

  it("compresses large answers for clients that accept gzip, and no others", async () => {
    const to = await serve();
    const large = echo("x".repeat(5_000));
    const packed = await post(to, echoPath, large, { "accept-encoding": "br, gzip" });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(fromBinary(EchoResponseSchema, gunzipSync(packed.bytes)).message).toHaveLength(5_000);
    expect((await post(to, echoPath, large)).headers["content-encoding"]).toBeUndefined();
    expect(
      (await post(to, echoPath, large, { "accept-encoding": "identity" })).headers["content-encoding"],
    ).toBeUndefined();
    expect(
      (await post(to, echoPath, echo("small"), { "accept-encoding": "gzip" })).headers["content-encoding"],
    ).toBeUndefined();
  });

  it("leaves unsupported encodings to the stock adapter", async () => {
    const to = await serve();
    const answer = await post(to, echoPath, echo("x"), { "content-encoding": "lzw" });
    expect(answer.error().code).toBe(Code.Unimplemented);
  });

  it("answers deadline_exceeded at the deadline and aborts a handler that goes on", async () => {
    const aborted = deferred<unknown>();
    const to = await serve({
      login: (_request, context) => {
        context.signal.addEventListener("abort", () => aborted.resolve(context.signal.reason));
        return new Promise(() => {});
      },
    });
    const answer = await post(to, loginPath, login, { "connect-timeout-ms": "50" });
    expect(answer.status).toBe(504);
    expect(toAppError(answer.error()).code).toBe("deadline_exceeded");
    expect(toAppError(await aborted.promise).code).toBe("deadline_exceeded");
  });

  it("answers deadline_exceeded when the body does not arrive in time", async () => {
    const to = await serve();
    const raw = wire(to.port);
    raw.socket.write(`POST /${echoPath} HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n`);
    raw.socket.write("connect-timeout-ms: 50\r\ncontent-length: 10\r\n\r\nabc");
    expect(await raw.until("deadline_exceeded")).toMatch(/^HTTP\/1.1 504 /);
    raw.socket.destroy();
  });

  it.each(["soon", "-1", "99999999999", "9999999999"])("refuses the timeout %s", async (timeout) => {
    const answer = await post(await serve(), echoPath, echo("x"), { "connect-timeout-ms": timeout });
    expect(answer.error().code).toBe(Code.InvalidArgument);
  });

  it("aborts the handler when the client goes away", async () => {
    const started = deferred();
    const aborted = deferred<unknown>();
    const to = await serve({
      login: (_request, context) => {
        context.signal.addEventListener("abort", () => aborted.resolve(context.signal.reason));
        started.resolve();
        return new Promise(() => {});
      },
    });
    const raw = wire(to.port);
    const token = await to.gateway.tokenFor(systemCaller("gateway"), "identity");
    raw.socket.write(`POST /${loginPath} HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n`);
    raw.socket.write(`${metadataNames.caller}: ${token}\r\ncontent-length: 0\r\n\r\n`);
    await started.promise;
    raw.socket.destroy();
    expect(toAppError(await aborted.promise).code).toBe("cancelled");
  });

  it("refuses a malformed message as validation_failed", async () => {
    const answer = await post(await serve(), echoPath, Buffer.from([0xff, 0xff, 0xff]));
    expect(answer.status).toBe(400);
    expect(toAppError(answer.error()).code).toBe("validation_failed");
  });

  it("sends a typed error whole", async () => {
    const to = await serve({
      login: () => {
        throw new AppError("mfa_required", "MFA required", { facts: { enrollUrl: "/mfa" }, retryAfterSeconds: 3 });
      },
    });
    const answer = await post(to, loginPath, login);
    expect(answer.status).toBe(403);
    expect(toAppError(answer.error())).toMatchObject({
      code: "mfa_required",
      message: "MFA required",
      facts: { enrollUrl: "/mfa" },
      retryAfterSeconds: 3,
    });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("password is hunter2");
      },
    ],
    ["rejects", () => Promise.reject(new Error("password is hunter2"))],
    ["returns what cannot be encoded", () => ({ tokens: { expiresInSeconds: "hunter2" as unknown as number } })],
  ])("answers nothing but Internal error when a handler %s, and logs the cause", async (_name, handler) => {
    const to = await serve({ login: handler });
    const answer = await post(to, loginPath, login, { [metadataNames.requestId]: "req-7" });
    expect(answer.status).toBe(500);
    expect(answer.bytes.toString()).not.toContain("hunter2");
    expect(toAppError(answer.error())).toMatchObject({ code: "internal", message: "Internal error" });
    const [line] = to.logged.filter(({ msg }) => msg === "rpc handler failed");
    expect(line).toMatchObject({
      requestId: "req-7",
      rpc: loginPath,
      err: { message: expect.stringMatching(/hunter2|cannot encode/) },
    });
  });

  it("refuses a call without caller token before its handler runs", async () => {
    let ran = false;
    const to = await serve({
      getJwks: () => {
        ran = true;
        return {};
      },
    });
    const answer = await httpRequest(`${to.url}/muster.identity.v1.SessionService/GetJwks`, {
      method: "POST",
      headers: { "content-type": "application/proto" },
    });
    expect(answer.statusCode).toBe(401);
    await answer.body.dump();
    expect(ran).toBe(false);
  });

  it("takes an empty message", async () => {
    const to = await serve({ getJwks: () => ({ jwksJson: "{}" }) });
    const answer = await post(to, "muster.identity.v1.SessionService/GetJwks", new Uint8Array());
    expect(fromBinary(GetJwksResponseSchema, answer.bytes).jwksJson).toBe("{}");
    expect(fromBinary(LoginResponseSchema, (await post(to, loginPath, new Uint8Array())).bytes).tokens).toBeUndefined();
  });
});
