import { create, type DescMessage, type DescMethod, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Code, type ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { AppError, systemCaller } from "@muster/kit";
import { ErrorInfoSchema } from "@muster/proto/google/rpc/error_details_pb";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { callContext } from "../caller/call-context.ts";
import { createTransport } from "../client/transport.ts";
import { toAppError } from "../protocol/errors.ts";
import { sessionImpl, type TestPort, testPort } from "../testing/ports.ts";
import { register } from "./registration.ts";

let port: TestPort;
let headers: Record<string, string>;
const ended: string[] = [];

beforeAll(async () => {
  const impl = sessionImpl({
    login: ({ email }, context) => {
      const { caller, deadlineMs } = callContext(context);
      if (email === "taken") throw new AppError("slug_taken", "Slug is taken", { facts: { slug: "acme" } });
      if (email === "bug") throw new Error("secret");
      context.responseTrailer.set("x-rows", "12");
      return { tokens: { accessToken: `${caller.actor.id} ${email}`, expiresInSeconds: deadlineMs === null ? 0 : 1 } };
    },
    // Never answers, and does not look at its signal either.
    refresh: (_request, context) => {
      context.signal.addEventListener("abort", () => ended.push("refresh"));
      return new Promise(() => {});
    },
  });
  port = await testPort({ services: [register(SessionService, impl)] });
  headers = { "muster-caller": await port.gateway.tokenFor(systemCaller("gateway"), "identity") };
});
afterAll(() => port.drain());

const stockOptions = () => ({ baseUrl: port.url, useBinaryFormat: true, idleConnectionTimeoutMs: 100 });

describe.each<[string, () => Transport]>([
  ["connect-node Connect over HTTP/1.1", () => createConnectTransport({ ...stockOptions(), httpVersion: "1.1" })],
  ["connect-node Connect over HTTP/2", () => createConnectTransport({ ...stockOptions(), httpVersion: "2" })],
  [
    "connect-node Connect with JSON",
    () => createConnectTransport({ ...stockOptions(), httpVersion: "1.1", useBinaryFormat: false }),
  ],
  [
    "connect-node Connect with GET",
    () => createConnectTransport({ ...stockOptions(), httpVersion: "1.1", useHttpGet: true }),
  ],
  ["connect-node gRPC", () => createGrpcTransport(stockOptions())],
  ["connect-node gRPC-Web", () => createGrpcWebTransport({ ...stockOptions(), httpVersion: "1.1" })],
  ["our own transport", () => createTransport({ baseUrls: [port.url] })],
])("%s", (_name, open) => {
  const probe = () => createClient(ProbeService, open());
  const session = () => createClient(SessionService, open());

  it("makes unary calls, large ones and empty ones too", async () => {
    expect((await probe().echo({ message: "héllo" })).message).toBe("héllo");
    expect((await probe().echo({ message: "x".repeat(5_000) })).message).toHaveLength(5_000);
    expect((await probe().echo({})).message).toBe("");
    expect(await probe().getInfo({})).toMatchObject({ service: "identity", version: "1.2.3", ready: true });
  });

  it("passes the caller and gets trailers", async () => {
    let rows: string | null = null;
    const onTrailer = (trailer: Headers) => {
      rows = trailer.get("x-rows");
    };
    const answer = await session().login({ email: "ada" }, { headers, onTrailer, timeoutMs: 5_000 });
    expect(answer.tokens).toMatchObject({ accessToken: "gateway ada", expiresInSeconds: 1 });
    expect(rows).toBe("12");
  });

  it("gets typed errors with their details", async () => {
    const error = (await session()
      .login({ email: "taken" }, { headers })
      .catch((e: unknown) => e)) as ConnectError;
    expect(error).toMatchObject({ code: Code.AlreadyExists, rawMessage: "Slug is taken" });
    expect(error.findDetails(ErrorInfoSchema)[0]).toMatchObject({ reason: "slug_taken", domain: "muster" });
    expect(toAppError(error)).toMatchObject({ code: "slug_taken", facts: { slug: "acme" } });
  });

  it("gets Internal error and nothing else for a bug", async () => {
    const error = (await session()
      .login({ email: "bug" }, { headers })
      .catch((e: unknown) => e)) as ConnectError;
    expect(error).toMatchObject({ code: Code.Internal, rawMessage: "Internal error" });
    expect(JSON.stringify(error.details)).not.toContain("secret");
  });

  it("is refused without a caller, and where its caller may not go", async () => {
    expect(
      await session()
        .login({})
        .catch((e) => toAppError(e).code),
    ).toBe("unauthenticated");
    expect(
      await session()
        .logout({}, { headers })
        .catch((e) => toAppError(e).code),
    ).toBe("permission_denied");
  });

  it("reads streams, and errors in them", async () => {
    const got: string[] = [];
    for await (const { message } of probe().echoStream({ message: "m", count: 3 }, { headers })) got.push(message);
    expect(got).toEqual(["m", "m", "m"]);
    const tooMany = async () => {
      for await (const _ of probe().echoStream({ count: 1_001 }, { headers }));
    };
    expect(await tooMany().catch((e) => toAppError(e))).toMatchObject({ code: "validation_failed" });
    const nobody = async () => {
      for await (const _ of probe().echoStream({ count: 1 }));
    };
    expect(await nobody().catch((e) => toAppError(e).code)).toBe("unauthenticated");
  });

  it("runs into its deadline, and the handler is notified", async () => {
    const before = ended.length;
    const error = await session().refresh({}, { headers, timeoutMs: 400 }).catch(toAppError);
    expect(error).toMatchObject({ code: "deadline_exceeded" });
    const deadline = performance.now() + 5_000;
    while (ended.length === before && performance.now() < deadline)
      await new Promise((resolve) => setImmediate(resolve));
    expect(ended.length).toBe(before + 1);
  });
});

describe("grpc-js", () => {
  const path = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;
  const serialize =
    <D extends DescMessage>(desc: D) =>
    (message: MessageShape<D>) =>
      Buffer.from(toBinary(desc, message));
  const deserialize =
    <D extends DescMessage>(desc: D) =>
    (bytes: Buffer) =>
      fromBinary(desc, bytes);
  let client: Client;
  beforeAll(() => {
    client = new Client(new URL(port.url).host, credentials.createInsecure());
  });
  afterAll(() => client.close());

  const metadata = () => {
    const sent = new Metadata();
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    return sent;
  };
  const unary = <I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { input: I; output: O },
    message: MessageShape<I>,
    options: { deadline?: number } = {},
  ) =>
    new Promise<MessageShape<O>>((resolve, reject) => {
      client.makeUnaryRequest(
        path(method),
        serialize(method.input),
        deserialize(method.output),
        message,
        metadata(),
        options,
        (error, answer) => (answer ? resolve(answer) : reject(error as ServiceError)),
      );
    });

  it("makes unary calls", async () => {
    const { echo } = ProbeService.method;
    expect((await unary(echo, create(echo.input, { message: "héllo" }))).message).toBe("héllo");
  });

  it("passes the caller and gets typed errors", async () => {
    const { login } = SessionService.method;
    expect((await unary(login, create(login.input, { email: "ada" }))).tokens?.accessToken).toBe("gateway ada");
    const error = await unary(login, create(login.input, { email: "taken" })).catch((e: ServiceError) => e);
    expect(error).toMatchObject({ code: status.ALREADY_EXISTS, details: "Slug is taken" });
    const [details] = (error as ServiceError).metadata.get("grpc-status-details-bin");
    expect(Buffer.from(details as Buffer).toString("latin1")).toContain("slug_taken");
  });

  it("reads streams", async () => {
    const { echoStream } = ProbeService.method;
    const stream = client.makeServerStreamRequest(
      path(echoStream),
      serialize(echoStream.input),
      deserialize(echoStream.output),
      create(echoStream.input, { message: "m", count: 3 }),
      metadata(),
    );
    const got: string[] = [];
    for await (const { message } of stream as AsyncIterable<{ message: string }>) got.push(message);
    expect(got).toEqual(["m", "m", "m"]);
  });

  it("runs into its deadline", async () => {
    const { refresh } = SessionService.method;
    const error = await unary(refresh, create(refresh.input), { deadline: Date.now() + 100 }).catch(
      (e: ServiceError) => e,
    );
    expect(error).toMatchObject({ code: status.DEADLINE_EXCEEDED });
  });
});
