import { Table2 } from "lucide-react";
import { lazy, Suspense, useId, useState } from "react";
import { barCap } from "../rules/bar-cap.ts";
import { levelRange } from "../rules/level-range.ts";
import { describe, describeLevels, type Point } from "../rules/stacked.ts";
import styles from "./chart.module.css";
import { HeadTools } from "./head-tools.tsx";
import { PlainTable } from "./plain-table.tsx";
import type { Mark } from "./plot-mark.tsx";
import type { PlotShape } from "./plot-options.ts";
import { Instant, useShortTime } from "./time.tsx";

const Plot = lazy(() => import("./plot.tsx"));

type ChartProps = Omit<PlotShape, "kind"> & {
  /** What is shown, for all readers. */
  label: string;
  points: readonly Point[];
  kind?: PlotShape["kind"];
  /** Of several levels, what the sum of them is. */
  sum?: string;
  /** One moment that is pointed out. */
  mark?: Mark | undefined;
  /** Its series are named above it, in their colours. */
  isNamed?: true;
};

/**
 * Counts over time, the series on one another, or levels. The same figures are a sentence for those who do not see it,
 * and a table for all; arrow keys move from value to value. A large one takes the height that is left, from 15rem on, a
 * fitting one from 8rem on.
 */
export function Chart({ label, points, kind = "bars", sum, mark, isNamed, ...shape }: ChartProps) {
  const { series, size } = shape;
  const short = useShortTime();
  const minuteOf = (at: Date) => short(at, "toMinute");
  const id = useId();
  const [isTableOpen, openTable] = useState(false);
  const names = series.map(({ name }) => name);
  const sums = points.map(({ values }) => values.reduce((all, value) => all + value, 0));
  const cap = kind === "bars" ? barCap(sums) : null;
  return (
    <figure className={styles.figure}>
      <Suspense fallback={<div className={styles.plot} data-size={size} />}>
        <Plot
          label={label}
          describedBy={id}
          points={points}
          kind={kind}
          cap={cap}
          {...shape}
          {...(mark ? { mark } : {})}
        />
      </Suspense>
      <figcaption className={series.length > 1 && !isNamed ? styles.legend : "visually-hidden"}>
        {kind === "bars" ? (
          <BarLegend of={series} />
        ) : sum ? (
          <LevelLegend of={series} sum={sum} points={points} />
        ) : null}
        <span id={id} className="visually-hidden">
          {kind === "bars" ? describe(points, names, minuteOf) : describeLevels(points, names)}
          {mark ? ` ${mark.title ?? minuteOf(new Date(points[mark.index]?.at ?? 0))}: ${mark.text}.` : null}
        </span>
      </figcaption>
      <HeadTools>
        <button
          type="button"
          data-weight="quiet"
          data-size="icon"
          aria-label={`${label}, as a table`}
          aria-expanded={isTableOpen}
          data-tip="As a table"
          onClick={() => openTable(!isTableOpen)}
        >
          <Table2 size={15} aria-hidden />
        </button>
      </HeadTools>
      {isTableOpen ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard
        <section className={styles.table} aria-label={`${label}, the table`} tabIndex={0}>
          <PlainTable columns={["Time", ...names]}>
            {points.map(({ at, values }) => (
              <tr key={at}>
                <td>
                  <Instant at={at} />
                </td>
                {names.map((name, index) => (
                  <td key={name}>{values[index]?.toLocaleString(undefined, { maximumFractionDigits: 1 })}</td>
                ))}
              </tr>
            ))}
          </PlainTable>
        </section>
      ) : null}
    </figure>
  );
}

type Legend = { of: PlotShape["series"] };

/** Which colour is which. */
const BarLegend = ({ of: series }: Legend) =>
  series.length > 1
    ? series.map(({ name, tone }) => (
        <span key={name} data-tone={tone}>
          {name}
        </span>
      ))
    : null;

/** The lines from the upper one down, and where their axis begins. */
function LevelLegend({ of: [first], sum, points }: Legend & { sum: string; points: readonly Point[] }) {
  const levels = points.map(({ values }) => values[0] ?? 0);
  const sums = points.map(({ values }) => values.reduce((all, value) => all + value, 0));
  const [from] = levelRange(Math.min(...levels), Math.max(...sums));
  return (
    <>
      <span data-line="dashed">{sum}</span>
      <span data-line="full" data-tone={first?.tone}>
        {first?.name}
      </span>
      {from > 0 ? <small className="number">Axis from {from.toLocaleString()} on</small> : null}
    </>
  );
}
