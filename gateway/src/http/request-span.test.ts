import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { endRequestSpan, startRequestSpan } from "./request-span.ts";

const exporter = new InMemorySpanExporter();
const publicUrl = new URL("https://muster.example.com:8443");
const begin = (target: string) => startRequestSpan("GET", target, publicUrl);

describe("the span of a request", () => {
  it("is not made without telemetry", () => {
    expect(begin("/api/v1/sites")).toBeUndefined();
  });

  describe("with telemetry", () => {
    beforeAll(() => {
      trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    });
    afterAll(() => trace.disable());

    it.each([
      [499, undefined],
      [500, "500"],
    ])("with status %i has the error %j", (status, type) => {
      exporter.reset();
      const span = begin("/api/v1/sites");
      if (!span) throw new Error("no span");
      endRequestSpan(span, { method: "GET", route: "GET /api/v1/sites", status, requestId: null });
      expect(exporter.getFinishedSpans()[0]?.attributes["error.type"]).toBe(type);
    });

    it.each([
      ["GET /api/v1/sites/:id", "/api/v1/sites/:id"],
      ["/api/v1/sites/:id", "/api/v1/sites/:id"],
      ["fallback", "fallback"],
    ])("has the pattern of %s as its route, and no query", (route, attribute) => {
      exporter.reset();
      const span = begin("/api/v1/sites/1?token=secret");
      if (!span) throw new Error("no span");
      endRequestSpan(span, { method: "GET", route, status: 503, requestId: "r1" });
      const [ended] = exporter.getFinishedSpans();
      expect(ended?.name).toBe(`GET ${attribute}`);
      expect(ended?.attributes).toEqual({
        "http.request.method": "GET",
        "http.route": attribute,
        "http.response.status_code": 503,
        "url.scheme": "https",
        "url.path": "/api/v1/sites/1",
        "server.address": "muster.example.com",
        "muster.request_id": "r1",
        "error.type": "503",
      });
    });
  });
});
