import { Counter, collectDefaultMetrics, Gauge, Histogram, register } from "prom-client";
import { openMetrics } from "./exemplars.ts";

export { Counter, Gauge, Histogram };

/**
 * Between samples of the event loop, which each of them includes; every 10 ms, as prom-client would, takes 0.4 % of a
 * core at rest.
 */
const loopSampleMs = 250;

const build = gauge("muster_build_info", "1; which version of the program and of Node runs.", ["version", "node"]);
let started = false;

/** Node's own metrics (heap, event loop, GC), and which version runs; called once by each process. */
export function startDefaultMetrics(version: string): void {
  build.set({ version, node: process.version }, 1);
  if (!started) collectDefaultMetrics({ eventLoopMonitoringPrecision: loopSampleMs });
  started = true;
}

/**
 * A counter; repeated calls with the same name return the same one. `labelValues`: the values of each label, whose
 * series begin at 0. Prometheus' `increase` of a series that begins at 1 is 0: without them an alert misses the first
 * event.
 */
export function counter<L extends string>(
  name: string,
  help: string,
  labelNames: L[] = [],
  labelValues?: Readonly<Record<L, readonly string[]>>,
): Counter<L> {
  const existing = register.getSingleMetric<L>(name);
  if (existing instanceof Counter) return existing;
  const created = new Counter({ name, help, labelNames });
  if (labelValues) for (const labels of combinations(labelNames, labelValues)) created.inc(labels, 0);
  return created;
}

type Labels<L extends string> = Partial<Record<L, string>>;

function combinations<L extends string>(names: readonly L[], labelValues: Readonly<Record<L, readonly string[]>>) {
  const start: Labels<L>[] = [{}];
  return names.reduce(
    (all, name) => all.flatMap((one) => labelValues[name].map((value) => ({ ...one, [name]: value }))),
    start,
  );
}

export function gauge<L extends string>(name: string, help: string, labelNames: L[] = []): Gauge<L> {
  const existing = register.getSingleMetric<L>(name);
  return existing instanceof Gauge ? existing : new Gauge({ name, help, labelNames });
}

export function histogram<L extends string>(
  name: string,
  help: string,
  labelNames: L[] = [],
  buckets: number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
): Histogram<L> {
  const existing = register.getSingleMetric<L>(name);
  return existing instanceof Histogram ? existing : new Histogram({ name, help, labelNames, buckets });
}

const openMetricsType = "application/openmetrics-text";

/** Prometheus' text, or OpenMetrics with exemplars for a scrape that accepts it; and its content type. */
export async function renderMetrics(accept = ""): Promise<{ contentType: string; body: string }> {
  const body = await register.metrics();
  if (!accept.includes(openMetricsType)) return { contentType: register.contentType, body };
  return { contentType: `${openMetricsType}; version=1.0.0; charset=utf-8`, body: openMetrics(body) };
}
