import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { activeTracer, systemCaller } from "@muster/kit";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { callContext } from "../caller/call-context.ts";
import { callOptions } from "../caller/metadata.ts";
import { register } from "../port/registration.ts";
import { sessionImpl, type TestPort, testMeta, testPort } from "../testing/ports.ts";
import { createTransport, type RpcTransport } from "./transport.ts";

const exporter = new InMemorySpanExporter();
const incoming = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
let port: TestPort;
let transport: RpcTransport;
let seen: { traceparent: string | null; activeTrace: string | undefined }[] = [];

beforeAll(async () => {
  const impl = sessionImpl({
    getJwks: (_request, handler) => {
      const { meta } = callContext(handler);
      seen.push({ traceparent: meta.traceparent, activeTrace: trace.getSpanContext(context.active())?.traceId });
      return {};
    },
  });
  port = await testPort({ services: [register(SessionService, impl)] });
  transport = createTransport({ baseUrls: [port.url] });
});
beforeEach(() => {
  seen = [];
  exporter.reset();
});
afterAll(async () => {
  trace.disable();
  context.disable();
  await transport.close();
  await port.drain();
});

const getJwks = async (traceparent: string | null) => {
  const token = await port.gateway.tokenFor(systemCaller("gateway"), "identity");
  const options = callOptions({ caller: { token }, meta: { ...testMeta, traceparent }, deadlineMs: null });
  await createClient(SessionService, transport).getJwks({}, options);
};

describe("tracing", () => {
  it("makes no spans and passes traceparent on unchanged when no SDK is registered", async () => {
    expect(activeTracer()).toBeUndefined();
    await getJwks(incoming);
    expect(seen).toEqual([{ traceparent: incoming, activeTrace: undefined }]);
  });

  describe("with an SDK", () => {
    beforeAll(() => {
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    });

    it("puts a client and a server span named after the RPC into the trace of the metadata", async () => {
      await getJwks(incoming);
      const [server, client] = exporter.getFinishedSpans();
      expect(server).toMatchObject({ name: "muster.identity.v1.SessionService/GetJwks", kind: SpanKind.SERVER });
      expect(client).toMatchObject({ name: "muster.identity.v1.SessionService/GetJwks", kind: SpanKind.CLIENT });
      expect(client?.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
      expect(server?.parentSpanContext?.spanId).toBe(client?.spanContext().spanId);
      expect(server?.spanContext().traceId).toBe("0af7651916cd43dd8448eb211c80319c");
      expect(seen).toEqual([
        {
          traceparent: `00-0af7651916cd43dd8448eb211c80319c-${server?.spanContext().spanId}-01`,
          activeTrace: "0af7651916cd43dd8448eb211c80319c",
        },
      ]);
    });

    it("makes the active span the parent, above what the metadata says", async () => {
      const span = trace.getTracer("test").startSpan("work");
      await context.with(trace.setSpan(context.active(), span), () => getJwks(incoming));
      span.end();
      const [, client] = exporter.getFinishedSpans();
      expect(client?.parentSpanContext?.spanId).toBe(span.spanContext().spanId);
    });

    it("keeps the decision of an unsampled trace", async () => {
      await getJwks(incoming.replace(/01$/, "00"));
      expect(exporter.getFinishedSpans()).toEqual([]);
      expect(seen[0]?.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/);
    });

    it("starts a trace where there is none, or none that can be read", async () => {
      await getJwks(null);
      await getJwks("rubbish");
      expect(seen.map(({ traceparent }) => traceparent)).toEqual([
        expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
        expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
      ]);
    });

    it("marks failed calls and covers streams", async () => {
      const read = async () => {
        for await (const _ of createClient(ProbeService, transport).echoStream({ count: 1 }));
      };
      await expect(read()).rejects.toMatchObject({ rawMessage: "Caller is not authenticated" });
      const server = exporter.getFinishedSpans().find(({ kind }) => kind === SpanKind.SERVER);
      expect(server?.status).toEqual({ code: SpanStatusCode.ERROR, message: "unauthenticated" });
    });
  });
});
