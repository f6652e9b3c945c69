import { Table2 } from "lucide-react";
import { lazy, Suspense, useId, useState } from "react";
import { describe, describeLevels, type Point } from "../rules/stacked.ts";
import styles from "./chart.module.css";
import { HeadTools } from "./head-tools.tsx";
import { PlainTable } from "./plain-table.tsx";
import type { Mark, Series } from "./plot.tsx";
import { Instant, useShortTime } from "./time.tsx";

const Plot = lazy(() => import("./plot.tsx"));

type ChartProps = {
  /** What is shown, for all readers. */
  label: string;
  series: readonly Series[];
  points: readonly Point[];
  /** Counts of a span each as bars, a level over time as an area, or one as a percentage. */
  kind?: "bars" | "area" | "percent";
  /** A large one takes the height that is left, from 15rem on, a fitting one from 8rem on. */
  size?: "large" | "fitting" | "small";
  /** Whether what is beside it already says which colour is which. */
  isKeyed?: boolean;
  /** Of the values, at the axis. */
  unit?: string;
  /** One moment that is pointed out. */
  mark?: Mark | undefined;
};

/**
 * Counts over time, the series on one another. The same figures are a sentence for those who do not see it, and a
 * table for all; arrow keys move from value to value.
 */
export function Chart({ label, series, points, kind = "bars", size, unit, isKeyed = false, mark }: ChartProps) {
  const short = useShortTime();
  const minuteOf = (at: Date) => short(at, "toMinute");
  const id = useId();
  const [isTableOpen, openTable] = useState(false);
  const names = series.map(({ name }) => name);
  const hasLegend = series.length > 1 && !isKeyed;
  return (
    <figure className={styles.figure}>
      <Suspense fallback={<div className={styles.plot} data-size={size} />}>
        <Plot
          label={label}
          describedBy={id}
          series={series}
          points={points}
          kind={kind}
          {...(size ? { size } : {})}
          {...(unit ? { unit } : {})}
          {...(mark ? { mark } : {})}
        />
      </Suspense>
      <figcaption className={hasLegend ? styles.legend : "visually-hidden"}>
        {hasLegend
          ? series.map(({ name, tone }) => (
              <span key={name} data-tone={tone}>
                {name}
              </span>
            ))
          : null}
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
