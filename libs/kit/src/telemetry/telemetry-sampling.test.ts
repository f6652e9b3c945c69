import { expect, test } from "@jest/globals";
import { ROOT_CONTEXT, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { sampler, spanProcessor } from "./telemetry-sampling.ts";

function tracer(ratio: number) {
  const exporter = new InMemorySpanExporter();
  const processor = spanProcessor(exporter);
  const provider = new TracerProvider({ sampler: sampler(ratio), spanProcessors: [processor] });
  return {
    tracer: provider.getTracer("test"),
    names: async () => {
      await processor.forceFlush();
      return exporter.getFinishedSpans().map(({ name }) => name);
    },
  };
}

test("a span that failed is kept although its trace was not sampled", async () => {
  const { tracer: t, names } = tracer(0);
  t.startSpan("fine").end();
  const failed = t.startSpan("failed");
  failed.setStatus({ code: SpanStatusCode.ERROR });
  failed.end();
  expect(await names()).toEqual(["failed"]);
});

test("the caller's decision is followed, whatever the ratio", async () => {
  const { tracer: t, names } = tracer(0);
  const ids = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", isRemote: true };
  const sampled = trace.setSpanContext(ROOT_CONTEXT, { ...ids, traceFlags: TraceFlags.SAMPLED });
  t.startSpan("of a sampled trace", {}, sampled).end();
  t.startSpan("of another", {}, trace.setSpanContext(ROOT_CONTEXT, { ...ids, traceFlags: TraceFlags.NONE })).end();
  expect(await names()).toEqual(["of a sampled trace"]);
});

test("about one trace in twenty is sampled by default", async () => {
  const { tracer: t, names } = tracer(0.05);
  for (let n = 0; n < 2_000; n++) t.startSpan("request").end();
  const kept = (await names()).length;
  expect(kept).toBeGreaterThan(50);
  expect(kept).toBeLessThan(170);
});

test("a ratio that is no share is refused", () => {
  expect(() => sampler(5)).toThrow("OTEL_TRACES_SAMPLER_ARG must be from 0 to 1, not 5");
});
