// Server side of one row: argv = kind, telemetry, key directory. Reports its port and, when asked, its CPU time.
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server as NetServer } from "node:net";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { createLogger, Readiness } from "@muster/kit";
import {
  type EchoRequest,
  EchoRequestSchema,
  type EchoResponse,
  EchoResponseSchema,
  ProbeService,
} from "@muster/proto/muster/common/v1/probe_pb";
import { type GetPartnerRequest, PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { callContext, createVerifier, register, servePort } from "@muster/rpc";
import { echoResponse, echoService } from "./rpc-grpc-js.ts";
import type { ServerKind } from "./rpc-rows.ts";
import { registerTelemetry, spanInterceptor } from "./rpc-telemetry.ts";

const [kind = "", telemetry = "", keys = ""] = process.argv.slice(2);
const withSpans = telemetry === "on";
if (withSpans) registerTelemetry();

const stock = () =>
  connectNodeAdapter({
    interceptors: withSpans ? [spanInterceptor("server")] : [],
    routes: (router) => router.service(ProbeService, { echo: ({ message }) => ({ message }) }),
  });

const lean: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { message } = fromBinary(EchoRequestSchema, Buffer.concat(chunks));
    const body = toBinary(EchoResponseSchema, create(EchoResponseSchema, { message }));
    response.writeHead(200, { "content-type": "application/proto", "content-length": body.length });
    response.end(body);
  });
};

async function listen(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function grpcJs(): Promise<number> {
  const server = new Server();
  server.addService(echoService, {
    echo: (call: ServerUnaryCall<EchoRequest, EchoResponse>, answer: sendUnaryData<EchoResponse>) =>
      answer(null, echoResponse(call.request.message)),
  });
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

async function muster(): Promise<number> {
  const readiness = new Readiness();
  readiness.set("ready");
  const refuse = () => {
    throw new Error("not part of the bench");
  };
  const partners = {
    ...Object.fromEntries(PartnerService.methods.map(({ localName }) => [localName, refuse])),
    getPartner: (request: GetPartnerRequest, context: HandlerContext) => ({
      partner: { id: callContext(context).caller.actor.id, name: request.id },
    }),
  } as ServiceImpl<typeof PartnerService>;
  const { port } = await servePort({
    host: "127.0.0.1",
    port: 0,
    name: "tenancy",
    version: "bench",
    services: [register(PartnerService, partners)],
    verifier: createVerifier({ directory: keys, service: "tenancy" }),
    log: createLogger("bench-server", "warn"),
    readiness,
    drainDelayMs: 0,
    graceMs: 0,
  });
  return port;
}

const start: Record<ServerKind, () => Promise<number>> = {
  "connect-http1": () => listen(createServer(stock())),
  "connect-http2": () => listen(createHttp2Server(stock())),
  "grpc-js": grpcJs,
  "lean-http": () => listen(createServer(lean)),
  muster,
};

process.on("message", () => process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }));
process.on("disconnect", () => process.exit());
process.send?.({ port: await start[kind as ServerKind]() });
