import { Cpu, HardDrive, type LucideIcon, MemoryStick } from "lucide-react";
import { useState } from "react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Chart } from "../../parts/chart.tsx";
import { Section } from "../../parts/facts.tsx";
import { WithHead } from "../../parts/head-tools.tsx";
import { highPercent } from "../../parts/plot-signs.ts";
import { Spans } from "../../parts/spans.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import styles from "./device.module.css";

type Device = BodyOf<"/api/v1/devices/{id}">;
type Step = BodyOf<"/api/v1/devices/{id}/metrics">["data"][number];
type Metric = "cpu" | "memory" | "disk";

const meters: readonly (readonly [metric: Metric, title: string, icon: LucideIcon])[] = [
  ["cpu", "CPU", Cpu],
  ["memory", "Memory", MemoryStick],
  ["disk", "Disk", HardDrive],
];
const spans = [
  { value: "24", title: "24 h", step: "15m", stepMs: 900_000 },
  { value: "168", title: "7 days", step: "1h", stepMs: 3_600_000 },
  { value: "720", title: "30 days", step: "6h", stepMs: 21_600_000 },
] as const;
const [hourMs, freshMs] = [3_600_000, 300_000];

/** Above it a meter says that little is left. */
const fullPercent = 95;

const fullness = { warn: "high", bad: "nearly full" } as const;

/** How busy the machine was, and what its agent last reported; nothing for an agent that reports no load. */
export default function DeviceMetrics({ of: { id, reported, lastSeenAt, status } }: { of: Device }) {
  const [hours, setHours] = useState<string>("168");
  // One moment for as long as a span is shown: another one each time would be another request each time.
  const [openedMs] = useState(Date.now);
  const { step, stepMs } = spans.find(({ value }) => value === hours) ?? spans[1];
  const fromMs = openedMs - Number(hours) * hourMs;
  const query = { from: new Date(fromMs).toISOString(), step };
  const { data, error, refetch } = useGet(
    "/api/v1/devices/{id}/metrics",
    { params: { path: { id }, query } },
    { freshMs, everyMs: freshMs },
  );
  const steps = data?.data ?? [];
  const shown = meters.filter(([metric]) => latest(reported, metric) !== null || steps.some((each) => each[metric]));
  if (error) return <FailureState failure={error.failure} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="Loading its load" />;
  if (shown.length === 0) return null;
  return (
    <Section title="Load" action={<Spans label="Time of the load" of={spans} chosen={hours} choose={setHours} />}>
      <div className={styles.meters}>
        {shown.map(([metric, title, Icon]) => (
          <Meter
            key={metric}
            title={title}
            icon={Icon}
            percent={latest(reported, metric)}
            when={status === "offline" ? "when last seen" : "now"}
            points={withNewest(pointsOf(steps, metric), latest(reported, metric), lastSeenAt)}
            range={{ from: fromMs, until: Math.max(openedMs, Date.parse(lastSeenAt ?? "") || 0) }}
            stepMs={stepMs}
          />
        ))}
      </div>
    </Section>
  );
}

/** What was last reported, in percent. */
function latest(reported: Device["reported"], metric: Metric): number | null {
  const percent = reported?.metrics?.[`${metric}.percent`];
  return percent === undefined ? null : Math.min(100, Math.max(0, percent));
}

const pointsOf = (steps: readonly Step[], metric: Metric) =>
  steps.flatMap(({ at, [metric]: values }) => (values ? [{ at, values: [values.mean] }] : []));

type Point = { at: string; values: number[] };

/** The curve ends with the value that is shown as the newest. */
function withNewest(points: readonly Point[], percent: number | null, at: string | null): readonly Point[] {
  const last = points.at(-1);
  if (percent === null || at === null || (last && last.at >= at)) return points;
  return [...points, { at, values: [percent] }];
}

type MeterProps = {
  title: string;
  icon: LucideIcon;
  percent: number | null;
  /** Of which time the percentage is. */
  when: string;
  points: readonly Point[];
  range: { from: number; until: number };
  stepMs: number;
};

function Meter({ title, icon: Icon, percent, when, points, range, stepMs }: MeterProps) {
  const now = percent ?? points.at(-1)?.values[0] ?? 0;
  const tone = now >= fullPercent ? "bad" : now >= highPercent ? "warn" : "run";
  const highest = Math.max(now, ...points.flatMap(({ values }) => values));
  return (
    <div className={styles.meter}>
      <WithHead
        head={(tools) => (
          <header>
            <Icon size={15} aria-hidden />
            <h3>
              {title} <small>highest {Math.round(highest)} %</small>
            </h3>
            <b className={styles.now} data-tone={tone}>
              {Math.round(now)} %<small>{tone === "run" ? ` ${when}` : ` ${when}, ${fullness[tone]}`}</small>
            </b>
            {tools}
          </header>
        )}
      >
        {points.length > 1 ? (
          <Chart
            label={`${title} over time`}
            kind="percent"
            size="small"
            series={[{ name: title, tone }]}
            points={points}
            range={range}
            stepMs={stepMs}
          />
        ) : (
          <p className="soft">Its history begins with the next full hour.</p>
        )}
      </WithHead>
    </div>
  );
}
