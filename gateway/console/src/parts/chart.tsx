import { lazy, Suspense, useId, useState } from "react";
import { describe, describeLevels, type Point } from "../rules/stacked.ts";
import styles from "./chart.module.css";
import { PlainTable } from "./plain-table.tsx";
import type { Mark, Series } from "./plot.tsx";
import { Instant, useExactTime } from "./time.tsx";

const Plot = lazy(() => import("./plot.tsx"));

type ChartProps = {
  /** What is shown, for all readers. */
  label: string;
  series: readonly Series[];
  points: readonly Point[];
  /** Counts of a span each as bars, a level over time as an area, or one as a percentage. */
  kind?: "bars" | "area" | "percent";
  size?: "large" | "small";
  /** One moment that is pointed out. */
  mark?: Mark | undefined;
};

/**
 * Counts over time, the series on one another. The same figures are a sentence for those who do not see it, and a
 * table for all; arrow keys move from value to value.
 */
export function Chart({ label, series, points, kind = "bars", size, mark }: ChartProps) {
  const exact = useExactTime();
  const id = useId();
  const [isTableOpen, openTable] = useState(false);
  const names = series.map(({ name }) => name);
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
          {...(mark ? { mark } : {})}
        />
      </Suspense>
      <figcaption className={styles.legend}>
        {series.length > 1
          ? series.map(({ name, tone }) => (
              <span key={name} data-tone={tone}>
                {name}
              </span>
            ))
          : null}
        <span id={id} className="visually-hidden">
          {kind === "bars" ? describe(points, names, exact) : describeLevels(points, names)}
          {mark ? ` ${exact(new Date(points[mark.index]?.at ?? 0))}: ${mark.text}.` : null}
        </span>
        <button type="button" data-weight="link" aria-expanded={isTableOpen} onClick={() => openTable(!isTableOpen)}>
          As a table
        </button>
      </figcaption>
      {isTableOpen ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard
        <section className={styles.table} aria-label={`${label}, as a table`} tabIndex={0}>
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
