import { describe, expect, it } from "@jest/globals";
import { DataPointType } from "@opentelemetry/sdk-metrics";
import { counter, gauge, histogram } from "./metrics.ts";
import { prometheusMetrics } from "./otlp-metrics.ts";

const collected = async (name: string) => {
  const { resourceMetrics } = await prometheusMetrics.collect();
  return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).find((each) => each.descriptor.name === name);
};

describe("metrics over OTLP", () => {
  it("are cumulative sums of counters, those at 0 among them", async () => {
    counter("muster_test_things_total", "Things.", ["kind"], { kind: ["a", "b"] }).inc({ kind: "a" }, 3);
    expect(await collected("muster_test_things_total")).toMatchObject({
      descriptor: { description: "Things.", unit: "" },
      dataPointType: DataPointType.SUM,
      isMonotonic: true,
      dataPoints: [
        { attributes: { kind: "a" }, value: 3 },
        { attributes: { kind: "b" }, value: 0 },
      ],
    });
  });

  it("are gauges with the unit that their name ends with", async () => {
    gauge("muster_test_age_seconds", "Age.").set(1.5);
    expect(await collected("muster_test_age_seconds")).toMatchObject({
      descriptor: { unit: "s" },
      dataPointType: DataPointType.GAUGE,
      dataPoints: [{ attributes: {}, value: 1.5 }],
    });
  });

  it("are histograms whose buckets count alone, one for each set of labels", async () => {
    const durations = histogram("muster_test_duration_seconds", "Durations.", ["rpc"], [0.1, 1]);
    for (const value of [0.05, 0.5, 0.7, 9]) durations.observe({ rpc: "a" }, value);
    durations.observe({ rpc: "b" }, 0.2);
    expect(await collected("muster_test_duration_seconds")).toMatchObject({
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: [
        {
          attributes: { rpc: "a" },
          value: { buckets: { boundaries: [0.1, 1], counts: [1, 2, 1] }, sum: 10.25, count: 4 },
        },
        { attributes: { rpc: "b" }, value: { buckets: { counts: [0, 1, 0] }, count: 1 } },
      ],
    });
  });
});
