import { type Span, TraceFlags, trace } from "@opentelemetry/api";

type Exemplar = { traceId: string; value: number; at: number };

/** Newest observations of sampled traces: by metric, then by its labels. */
const newest = new Map<string, Map<string, Exemplar[]>>();
const perSeries = 8;

const escaped = (value: string) => value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
const seriesOf = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .sort()
    .join(",");

/**
 * Keeps what a histogram observed in a sampled trace, for a scrape that takes exemplars: from a slow bucket its reader
 * gets to one of its traces. Nothing without telemetry, and for other traces.
 */
export function noteExemplar(
  metric: string,
  labels: Readonly<Record<string, string>>,
  value: number,
  span: Span | undefined = trace.getActiveSpan(),
): void {
  const context = span?.spanContext();
  if (!context || (context.traceFlags & TraceFlags.SAMPLED) === 0) return;
  const series = newest.get(metric) ?? new Map<string, Exemplar[]>();
  newest.set(metric, series);
  const key = seriesOf(labels);
  const kept = series.get(key) ?? [];
  series.set(key, kept);
  kept.push({ traceId: context.traceId, value, at: Date.now() / 1000 });
  if (kept.length > perSeries) kept.shift();
}

const bucketLine = /^(\w+)_bucket\{([^}]*)\} \S+$/;
const labelPair = /(\w{1,64})="((?:[^"\\]|\\.)*)"/g;

/**
 * Prometheus' text as OpenMetrics 1.0: the family of a counter has no `_total`, no line is empty, buckets carry the
 * newest exemplar that was observed in them, and the text has an end.
 */
export function openMetrics(text: string): string {
  const lines: string[] = [];
  const counters = new Set([...text.matchAll(/^# TYPE (\w+)_total counter$/gm)].map(([, family]) => family ?? ""));
  let before = { series: "", bound: Number.NEGATIVE_INFINITY };
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, metric = "", labels = ""] = bucketLine.exec(line) ?? [];
    if (metric === "") {
      lines.push(line.startsWith("#") ? familyLine(line, counters) : line);
      continue;
    }
    const { series, bound } = bucketOf(labels);
    const above = before.series === `${metric}{${series}` ? before.bound : Number.NEGATIVE_INFINITY;
    before = { series: `${metric}{${series}`, bound };
    const found = newest
      .get(metric)
      ?.get(series)
      ?.findLast(({ value }) => value > above && value <= bound);
    lines.push(found ? `${line} # {trace_id="${found.traceId}"} ${found.value} ${found.at.toFixed(3)}` : line);
  }
  return `${lines.join("\n")}\n# EOF\n`;
}

function bucketOf(labels: string): { series: string; bound: number } {
  let bound = Number.NaN;
  const others: string[] = [];
  for (const [pair, name, value] of labels.matchAll(labelPair)) {
    if (name === "le") bound = value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value);
    else others.push(pair);
  }
  return { series: others.sort().join(","), bound };
}

/** `# HELP` and `# TYPE` of a counter name its family. */
function familyLine(line: string, counters: ReadonlySet<string>): string {
  const [mark = "", kind = "", name = "", ...rest] = line.split(" ");
  const family = name.replace(/_total$/, "");
  return counters.has(family) ? [mark, kind, family, ...rest].join(" ") : line;
}
