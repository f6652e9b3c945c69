import { stackedBars } from "../rules/bars.ts";
import styles from "./bar-chart.module.css";
import { PlainTable } from "./plain-table.tsx";
import { Instant } from "./time.tsx";

const box = { width: 600, height: 120 };

type Series = { name: string; tone: "good" | "bad" | "quiet" };

/** Counts over time as stacked bars, with the same figures as a table, also for screen readers. */
export function BarChart({
  label,
  series,
  points,
}: {
  label: string;
  series: readonly Series[];
  points: readonly { at: string; values: readonly number[] }[];
}) {
  const bars = stackedBars(
    points.map(({ values }) => values),
    box,
  );
  return (
    <figure className={styles.figure}>
      <svg
        viewBox={`0 0 ${box.width} ${box.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        className={styles.chart}
      >
        <title>{label}</title>
        {bars.map((each, at) => (
          <g key={series[at]?.name} className={styles[series[at]?.tone ?? "quiet"]}>
            {each.map((bar) => (
              <rect key={bar.x} {...bar} />
            ))}
          </g>
        ))}
      </svg>
      <figcaption className={styles.legend}>
        {series.map(({ name, tone }) => (
          <span key={name} className={styles[tone]}>
            {name}
          </span>
        ))}
      </figcaption>
      <details>
        <summary>As a table</summary>
        <PlainTable columns={["Time", ...series.map(({ name }) => name)]}>
          {points.map(({ at, values }) => (
            <tr key={at}>
              <td>
                <Instant at={at} />
              </td>
              {series.map(({ name }, index) => (
                <td key={name}>{values[index]}</td>
              ))}
            </tr>
          ))}
        </PlainTable>
      </details>
    </figure>
  );
}
