// Client side of one row: argv = kind, telemetry, base URL, warm-up ms, measured ms, calls in flight, caller key.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { credentials, makeGenericClientConstructor } from "@grpc/grpc-js";
import { type Caller, uuidv7 } from "@muster/kit";
import {
  EchoRequestSchema,
  type EchoResponse,
  EchoResponseSchema,
  ProbeService,
} from "@muster/proto/muster/common/v1/probe_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { callOptions, createSigner, createTransport } from "@muster/rpc";
import { Pool } from "undici";
import { echoRequest, echoService } from "./rpc-grpc-js.ts";
import type { ClientKind } from "./rpc-rows.ts";
import { registerTelemetry, spanInterceptor } from "./rpc-telemetry.ts";

const [kind = "", telemetry = "", baseUrl = "", warmMs = "", measuredMs = "", inFlight = "", privateKeys = ""] =
  process.argv.slice(2);
const withSpans = telemetry === "on";
if (withSpans) registerTelemetry();

const message = "m".repeat(200);
/** Bound of the samples kept, and so of the calls a row can make. */
const maxCalls = 400_000;

type Call = () => Promise<void>;

function echoOver(transport: Transport): Call {
  const client = createClient(ProbeService, transport);
  return async () => {
    await client.echo({ message });
  };
}

function grpcJs(): Call {
  const Client = makeGenericClientConstructor(echoService, "ProbeService");
  const client = new Client(new URL(baseUrl).host, credentials.createInsecure());
  const echo = client.echo?.bind(client) as (
    request: unknown,
    options: { deadline: number },
    done: (error: Error | null, response: EchoResponse) => void,
  ) => void;
  return () =>
    new Promise((resolve, reject) => {
      echo(echoRequest(message), { deadline: Date.now() + 10_000 }, (error) => (error ? reject(error) : resolve()));
    });
}

function undici(): Call {
  const pool = new Pool(baseUrl, { connections: 8, pipelining: 1 });
  const headers = {
    "content-type": "application/proto",
    "connect-protocol-version": "1",
    "connect-timeout-ms": "10000",
  };
  return async () => {
    const body = toBinary(EchoRequestSchema, create(EchoRequestSchema, { message }));
    const answer = await pool.request({ path: "/muster.common.v1.ProbeService/Echo", method: "POST", headers, body });
    fromBinary(EchoResponseSchema, await answer.body.bytes());
  };
}

function withCaller(): Call {
  const signer = createSigner({ issuer: "gateway", privateKeys });
  const callers = { service: "tenancy", signer };
  const client = createClient(PartnerService, createTransport({ baseUrls: [baseUrl], callers }));
  const id = uuidv7();
  const caller: Caller = {
    actor: {
      type: "user",
      id,
      email: "admin@example.com",
      name: "Ada Admin",
      role: "platform-admin",
      department: null,
    },
    scope: "system",
    partnerId: null,
    orgId: null,
    orgAccess: { mode: "all" },
    siteIds: null,
    permissions: [
      "organizations:read",
      "organizations:write",
      "users:read",
      "users:write",
      "audit:read",
      "devices:read",
    ],
    mfaAt: new Date(),
    sessionId: uuidv7(),
    keyId: null,
  };
  return async () => {
    const meta = { requestId: uuidv7(), clientAddress: "192.0.2.7", userAgent: "bench/1.0", traceparent: null };
    const options = callOptions({ caller, meta, deadlineMs: performance.now() + 10_000 });
    await client.getPartner({ id: message }, options);
  };
}

const interceptors: Interceptor[] = withSpans ? [spanInterceptor("client")] : [];
const stockOptions = { baseUrl, interceptors, defaultTimeoutMs: 10_000, useBinaryFormat: true };
const calls: Record<ClientKind, () => Call> = {
  "connect-grpc": () => echoOver(createGrpcTransport(stockOptions)),
  "connect-http2": () => echoOver(createConnectTransport({ ...stockOptions, httpVersion: "2" })),
  "connect-http1": () => echoOver(createConnectTransport({ ...stockOptions, httpVersion: "1.1" })),
  "grpc-js": grpcJs,
  undici,
  muster: () => echoOver(createTransport({ baseUrls: [baseUrl] })),
  "muster-caller": withCaller,
};

/** Keeps `inFlight` calls in flight for `ms`; returns how long each took, in microseconds. */
async function load(call: Call, ms: number): Promise<{ samples: Float64Array; seconds: number }> {
  const samples = new Float64Array(maxCalls);
  const startedMs = performance.now();
  let made = 0;
  const caller = async () => {
    while (made < maxCalls) {
      const beforeMs = performance.now();
      if (beforeMs - startedMs >= ms) return;
      const at = made++;
      await call();
      samples[at] = (performance.now() - beforeMs) * 1000;
    }
  };
  await Promise.all(Array.from({ length: Number(inFlight) }, caller));
  return { samples: samples.subarray(0, made).sort(), seconds: (performance.now() - startedMs) / 1000 };
}

const call = calls[kind as ClientKind]();
await load(call, Number(warmMs));
const proceed = new Promise((resolve) => process.once("message", resolve));
process.send?.({ warm: true });
await proceed;
const cpuBefore = process.cpuUsage();
const { samples, seconds } = await load(call, Number(measuredMs));
const cpu = process.cpuUsage(cpuBefore);
const at = (quantile: number) => samples[Math.min(samples.length - 1, Math.floor(samples.length * quantile))] ?? 0;
process.send?.({
  calls: samples.length,
  seconds,
  p50: at(0.5),
  p99: at(0.99),
  cpuUs: (cpu.user + cpu.system) / samples.length,
  rss: process.memoryUsage.rss(),
});
process.on("disconnect", () => process.exit());
