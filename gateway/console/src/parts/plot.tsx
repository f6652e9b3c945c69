import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import type { Point } from "../rules/stacked.ts";
import styles from "./chart.module.css";
import "./plot.css";
import { type Corner, type Mark, MarkedMoment, positionOf, tipStyle } from "./plot-mark.tsx";
import { coloursOf, columnsOf, optionsOf, type PlotShape } from "./plot-options.ts";
import { drawBreaks, drawHigh } from "./plot-signs.ts";
import { useShortTime } from "./time.tsx";
import { useZone, zoneName } from "./zone.ts";

type PlotProps = PlotShape & {
  label: string;
  describedBy: string;
  points: readonly Point[];
  /** Where bars are cut; null: none is. */
  cap: number | null;
  /** One moment that is pointed out while no other one is looked at. */
  mark?: Mark;
};
type Shown = { index: number; left: number };

const phone = matchMedia("(width < 48rem)");

/** The chart itself, once it is loaded. */
export default function Plot({ label, describedBy, points, cap, mark, ...shape }: PlotProps) {
  const { series, kind, size, range } = shape;
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [shown, show] = useState<Shown | null>(null);
  const [markAt, setMarkAt] = useState<Corner | null>(null);
  const zone = zoneName(useZone());
  const look = useLookChanges();
  const latest = useRef({ points, cap, range, markIndex: mark?.index });
  latest.current = { points, cap, range, markIndex: mark?.index };
  const names = series.map(({ name, tone }) => `${name} ${tone}`).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: made again for what it cannot change
  useEffect(() => {
    const box = element.current;
    if (!box) return;
    const colours = coloursOf(box);
    const onMove = ({ cursor: { idx, left = -1 } }: uPlot) =>
      show(idx === null || idx === undefined || left < 0 ? null : { index: idx, left });
    const onDraw = (drawn: uPlot) => {
      const { points: of, cap: cut, markIndex } = latest.current;
      if (kind === "percent") drawHigh(drawn, { line: colours.high, text: colours.text });
      if (cut !== null) drawBreaks(drawn, { points: of, cap: cut, ...colours });
      setMarkAt((before) => positionOf(drawn, markIndex, before));
    };
    const isBare = size === "small" && phone.matches;
    const isCut = () => latest.current.cap !== null;
    const hooks = { onMove, onDraw, rangeOf: () => latest.current.range, isCut };
    const options = optionsOf(box, shape, { zone, colours, isBare }, hooks);
    const made = new uPlot(options, columnsOf(latest.current.points, shape, latest.current.cap), box);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: box.clientHeight }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [names, kind, zone, look]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the data alone
  useEffect(() => plot.current?.setData(columnsOf(points, shape, cap)), [points]);

  const onKeyDown = (event: KeyboardEvent) => {
    const index = indexAfter(event.key, shown, points.length - 1);
    if (index === null || !plot.current) return;
    event.preventDefault();
    const left = plot.current.valToPos(plot.current.data[0][index] ?? 0, "x");
    plot.current.setCursor({ left, top: 0 });
    show({ index, left });
  };
  const point = shown ? points[shown.index] : undefined;
  return (
    <div
      ref={element}
      className={styles.plot}
      data-size={size}
      role="img"
      aria-label={label}
      aria-describedby={describedBy}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its values are read by arrow keys
      tabIndex={0}
      onKeyDown={onKeyDown}
      onBlur={() => show(null)}
    >
      {point && shown ? (
        <div className={styles.tip} style={tipStyle(shown.left, element.current)} aria-live="polite">
          <Values at={point} of={shape} />
        </div>
      ) : null}
      {mark && markAt && !shown ? (
        <MarkedMoment at={markAt} box={element.current} of={mark} time={points[mark.index]?.at} kind={kind} />
      ) : null}
    </div>
  );
}

/** The value that an arrow key leads to; null for other keys, and without a value. */
function indexAfter(key: string, shown: Shown | null, last: number): number | null {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (by === undefined || last < 0) return null;
  return shown ? Math.min(last, Math.max(0, shown.index + by)) : by < 0 ? last : 0;
}

/** All values of an instant. */
function Values({ at: point, of: { series, kind } }: { at: Point; of: PlotShape }) {
  const short = useShortTime();
  return (
    <>
      <b>{short(new Date(point.at), "toMinute")}</b>
      {series.map(({ name }, at) => (
        <span key={name} className="number">
          {at > 0 ? " · " : ""}
          {(point.values[at] ?? 0).toLocaleString(undefined, { maximumFractionDigits: 1 })}
          {kind === "percent" ? " %" : ` ${name.toLowerCase()}`}
        </span>
      ))}
    </>
  );
}

/** Counts the changes of theme and width: a canvas keeps the colours and the axes that it was made with. */
function useLookChanges(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const changed = () => setCount((before) => before + 1);
    // On paper the theme is the light one.
    const queries = [phone, ...["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query))];
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    for (const query of queries) query.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      for (const query of queries) query.removeEventListener("change", changed);
    };
  }, []);
  return count;
}
