import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import { register } from "prom-client";

/** What prom-client gives of a metric; of a histogram, each bucket, sum and count are values of their own names. */
type Listed = { name: string; help: string; type: unknown; values: readonly Value[] };
type Value = { value: number; labels: Attributes; metricName?: string };

const units: [string, string][] = [
  ["_seconds", "s"],
  ["_bytes", "By"],
];
const unitOf = (name: string) => units.find(([suffix]) => name.replace(/_total$/, "").endsWith(suffix))?.[1] ?? "";

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
const startTime = hrTime(Date.now() - performance.now());

/**
 * The metrics of `/metrics` for a reader of the OpenTelemetry SDK: the same names, labels and values, cumulative since
 * the start of the process.
 */
export const prometheusMetrics: MetricProducer = {
  async collect() {
    const listed: readonly Listed[] = await register.getMetricsAsJSON();
    const endTime = hrTime(Date.now());
    const metrics = listed.flatMap((each) => metricOf(each, endTime) ?? []);
    return {
      resourceMetrics: {
        resource: resourceFromAttributes({}),
        scopeMetrics: [{ scope: { name: "@muster" }, metrics }],
      },
      errors: [],
    };
  },
};

function metricOf({ name, help, type, values }: Listed, endTime: HrTime): MetricData | null {
  const about = {
    descriptor: { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE, advice: {} },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const points = values.map(({ value, labels }) => ({ startTime, endTime, attributes: labels, value }));
  if (type === "counter") return { ...about, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points };
  if (type === "gauge") return { ...about, dataPointType: DataPointType.GAUGE, dataPoints: points };
  if (type !== "histogram") return null;
  const dataPoints = seriesOf(name, values).map(({ labels, ...value }) => ({
    startTime,
    endTime,
    attributes: labels,
    value,
  }));
  return { ...about, dataPointType: DataPointType.HISTOGRAM, dataPoints };
}

type Series = { labels: Attributes; buckets: { boundaries: number[]; counts: number[] }; sum: number; count: number };

/** One entry for each set of labels. Prometheus counts a bucket with all below it, OTLP alone. */
function seriesOf(name: string, values: readonly Value[]): Series[] {
  const byLabels = new Map<string, Series & { below: number }>();
  for (const {
    value,
    labels: { le, ...labels },
    metricName,
  } of values) {
    const key = JSON.stringify(labels);
    const series = byLabels.get(key) ?? { labels, buckets: { boundaries: [], counts: [] }, sum: 0, count: 0, below: 0 };
    byLabels.set(key, series);
    if (metricName === `${name}_sum`) series.sum = value;
    else if (metricName === `${name}_count`) series.count = value;
    else {
      if (le !== "+Inf") series.buckets.boundaries.push(Number(le));
      series.buckets.counts.push(value - series.below);
      series.below = value;
    }
  }
  return [...byLabels.values()].map(({ below: _, ...series }) => series);
}
