import type { CSSProperties } from "react";
import type uPlot from "uplot";
import styles from "./chart.module.css";
import type { PlotShape } from "./plot-options.ts";
import { useShortTime } from "./time.tsx";

/** A value of the first series, by its position, and what is said of it, below its instant or another title. */
export type Mark = { index: number; text: string; title?: string };
export type Corner = { left: number; top: number };

/** Pixels from which a chart has room for words beside a value. */
const wideFrom = 480;

type MarkedMomentProps = {
  at: Corner;
  box: HTMLElement | null;
  of: Mark;
  time: string | undefined;
  kind: PlotShape["kind"];
};

/** A ring at the value, and what is said of it beside it; in a narrow chart, above it. */
export function MarkedMoment({ at: { left, top }, box, of: { title, text }, time, kind }: MarkedMomentProps) {
  const short = useShortTime();
  const isBar = kind === "bars";
  const isWide = (box?.clientWidth ?? 0) >= wideFrom;
  return (
    <div className={styles.mark} data-is-bar={isBar || undefined} style={{ left, top }} aria-hidden>
      <div className={styles.tip} data-is-mark style={isBar || isWide ? beside(left, box) : above(left, box)}>
        <b>{title ?? (time ? short(new Date(time), "toMinute") : null)}</b>
        {text}
      </div>
    </div>
  );
}

/** Where the marked value of the first series is, in pixels of the chart; the one before while it has not moved. */
export function positionOf(plot: uPlot, index: number | undefined, before: Corner | null): Corner | null {
  const at = index === undefined ? undefined : plot.data[0][index];
  const value = index === undefined ? undefined : plot.data.at(-1)?.[index];
  if (at === undefined || value === undefined || value === null) return null;
  const left = Math.round(plot.over.offsetLeft + plot.valToPos(at, "x"));
  const top = Math.round(plot.over.offsetTop + plot.valToPos(value, "y"));
  return before && before.left === left && before.top === top ? before : { left, top };
}

/** In the middle above it, and inside the chart where it is near an end. */
function above(left: number, box: HTMLElement | null): CSSProperties {
  const width = box?.clientWidth ?? 0;
  const shift = left < 110 ? "-1rem" : left > width - 110 ? "calc(-100% + 1rem)" : "-50%";
  return { bottom: "1.25rem", "--shift": shift } as CSSProperties;
}

/** On the side of it where there is room. */
function beside(left: number, box: HTMLElement | null): CSSProperties {
  const isRight = left > (box?.clientWidth ?? 0) / 2;
  return { "--shift": isRight ? "calc(-100% - 1.75rem)" : "1.75rem" } as CSSProperties;
}

/** Beside the pointer, on the side where there is room. Pixels of the axis included. */
export function tipStyle(left: number, box: HTMLElement | null): CSSProperties {
  const x = left + 48;
  const isRight = x > (box?.clientWidth ?? 0) / 2;
  return { left: `${x}px`, "--shift": isRight ? "calc(-100% - 0.75rem)" : "0.75rem" } as CSSProperties;
}
