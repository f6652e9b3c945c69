import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { Health, HealthCheckResponse_ServingStatus as Status } from "@muster/proto/grpc/health/v1/health_pb";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";

const message = "héllo wire";
const timeoutMs = 5_000;

/** PEM texts: an authority, and the certificate that the client shows. */
export type WireTls = { ca: Buffer; cert: Buffer; key: Buffer };

/**
 * Runs the stock clients (connect-node Connect over HTTP/1.1 and HTTP/2, connect-node gRPC, grpc-js) against the RPC
 * port at `baseUrl`: a unary call, a typed error and a stream with each, through ProbeService and health. Needs no
 * caller; with `callerToken` EchoStream is read as well. An https `baseUrl` needs `tls`. Rejects with an Error that
 * names client and step.
 */
export async function wireSmoke(
  baseUrl: string,
  { callerToken, tls }: { callerToken?: string; tls?: WireTls | undefined } = {},
): Promise<void> {
  const secure = tls === undefined ? {} : { nodeOptions: { ...tls } };
  const stock = { baseUrl, useBinaryFormat: true, idleConnectionTimeoutMs: 100, ...secure };
  const transports: Record<string, Transport> = {
    "Connect over HTTP/1.1": createConnectTransport({ ...stock, httpVersion: "1.1" }),
    "Connect over HTTP/2": createConnectTransport({ ...stock, httpVersion: "2" }),
    gRPC: createGrpcTransport(stock),
  };
  for (const [name, transport] of Object.entries(transports)) await smokeStock(name, transport, callerToken);
  await smokeGrpcJs(new URL(baseUrl).host, tls);
}

async function smokeStock(name: string, transport: Transport, callerToken: string | undefined): Promise<void> {
  const probe = createClient(ProbeService, transport);
  const health = createClient(Health, transport);
  await step(name, "Echo", async () => expectSame((await probe.echo({ message }, { timeoutMs })).message, message));
  await step(name, "typed error", async () => {
    const thrown: unknown = await health.check({ service: "nobody" }, { timeoutMs }).then(
      () => null,
      (e: unknown) => e,
    );
    expectSame(thrown instanceof ConnectError ? thrown.code : thrown, Code.NotFound);
  });
  await step(name, "Watch", async () => {
    const statuses: Status[] = [];
    for await (const { status } of health.watch({ service: "nobody" }, { timeoutMs })) statuses.push(status);
    expectSame(statuses.join(), String(Status.SERVICE_UNKNOWN));
  });
  if (callerToken === undefined) return;
  await step(name, "EchoStream", async () => {
    let got = 0;
    const headers = { "muster-caller": callerToken };
    for await (const answer of probe.echoStream({ message, count: 3 }, { timeoutMs, headers })) {
      expectSame(answer.message, message);
      got++;
    }
    expectSame(got, 3);
  });
}

async function smokeGrpcJs(address: string, tls: WireTls | undefined): Promise<void> {
  // 65 files, which two hundred suites would load with this package.
  const { Client, credentials } = await import("@grpc/grpc-js");
  const { echo } = ProbeService.method;
  const client = new Client(
    address,
    tls === undefined ? credentials.createInsecure() : credentials.createSsl(tls.ca, tls.key, tls.cert),
  );
  try {
    await step("grpc-js", "Echo", async () => {
      const answer = await new Promise<string | undefined>((resolve, reject) => {
        client.makeUnaryRequest(
          `/${ProbeService.typeName}/${echo.name}`,
          (request: Parameters<typeof toBinary<typeof echo.input>>[1]) => Buffer.from(toBinary(echo.input, request)),
          (bytes: Buffer) => fromBinary(echo.output, bytes),
          create(echo.input, { message }),
          { deadline: Date.now() + timeoutMs },
          (error, response) => (error ? reject(error) : resolve(response?.message)),
        );
      });
      expectSame(answer, message);
    });
  } finally {
    client.close();
  }
}

async function step(client: string, name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (cause) {
    throw new Error(`${client}: ${name} failed: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

function expectSame(got: unknown, wanted: unknown): void {
  if (got !== wanted) throw new Error(`got ${String(got)}, wanted ${String(wanted)}`);
}
