import { beforeAll, describe, expect, it } from "@jest/globals";
import { type Span, TraceFlags } from "@opentelemetry/api";
import { noteExemplar, openMetrics } from "./exemplars.ts";
import { counter, histogram, renderMetrics } from "./metrics.ts";

const spanOf = (traceId: string, traceFlags: TraceFlags) => ({ spanContext: () => ({ traceId, traceFlags }) }) as Span;
const name = "muster_test_exemplar_seconds";

describe("a scrape", () => {
  beforeAll(() => {
    counter("muster_test_scraped_total", "Scraped.").inc(2);
    const durations = histogram(name, "Durations.", ["route"], [0.1, 1]);
    for (const [route, seconds, traceId, flags] of [
      ["GET /a", 0.05, "a1", TraceFlags.SAMPLED],
      ["GET /a", 0.06, "a2", TraceFlags.SAMPLED],
      ["GET /a", 3, "a3", TraceFlags.SAMPLED],
      ["GET /a", 0.5, "a4", TraceFlags.NONE],
      ['GET "/b"', 0.5, "b1", TraceFlags.SAMPLED],
    ] as const) {
      durations.observe({ route }, seconds);
      noteExemplar(name, { route }, seconds, spanOf(traceId, flags));
    }
  });

  it("finds a sampled trace in each bucket that one fell into, when it accepts OpenMetrics", async () => {
    const { contentType, body } = await renderMetrics("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    expect(contentType).toMatch(/^application\/openmetrics-text/);
    const lines = body.split("\n").filter((line) => line.startsWith(`${name}_bucket`));
    const found = lines.map((line) => [/le="([^"]+)"/.exec(line)?.[1], /trace_id="(\w+)"/.exec(line)?.[1]]);
    expect(found).toEqual([
      ["0.1", "a2"],
      ["1", undefined],
      ["+Inf", "a3"],
      ["0.1", undefined],
      ["1", "b1"],
      ["+Inf", undefined],
    ]);
    expect(lines[0]).toMatch(/ 2 # \{trace_id="a2"\} 0\.06 \d+\.\d{3}$/);
  });

  it("gets families of counters, no empty line, and an end, when it accepts OpenMetrics", async () => {
    const { body } = await renderMetrics("application/openmetrics-text");
    expect(body).toContain("# TYPE muster_test_scraped counter\nmuster_test_scraped_total 2\n");
    expect(body).not.toMatch(/\n\n/);
    expect(body.endsWith("\n# EOF\n")).toBe(true);
    expect(openMetrics("# TYPE odd_total gauge\nodd_total 1\n")).toBe("# TYPE odd_total gauge\nodd_total 1\n# EOF\n");
  });

  it("gets Prometheus' text when it accepts nothing else", async () => {
    const { contentType, body } = await renderMetrics("*/*");
    expect(contentType).toMatch(/^text\/plain/);
    expect(body).not.toMatch(/trace_id|# EOF/);
  });
});
