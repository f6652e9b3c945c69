import { type CSSProperties, type KeyboardEvent, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import { levelRange } from "../rules/level-range.ts";
import { type Point, stacked } from "../rules/stacked.ts";
import type { Tone } from "../rules/tone.ts";
import styles from "./chart.module.css";
import "./plot.css";
import { useShortTime } from "./time.tsx";
import { useZone, zoneName } from "./zone.ts";

export type Series = { name: string; tone: Tone };

type PlotProps = {
  label: string;
  describedBy: string;
  series: readonly Series[];
  points: readonly Point[];
  kind: "bars" | "area" | "percent";
  size?: "large" | "fitting" | "small";
  unit?: string;
  /** One moment that is pointed out while no other one is looked at. */
  mark?: Mark;
};

/** A value of the first series, by its position, and what is said of it, below its instant or another title. */
export type Mark = { index: number; text: string; title?: string };

type Corner = { left: number; top: number };
type Shown = { index: number; left: number };

/** Colours as a canvas takes them: the tokens, as the theme resolves them. */
function coloursOf(element: HTMLElement) {
  const probe = element.appendChild(document.createElement("span"));
  const resolved = (token: string) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const tones = { good: "--good", bad: "--bad", run: "--accent", warn: "--warn", off: "--bar-off" };
  const colours = {
    text: resolved("--text-soft"),
    line: resolved("--line-soft"),
    tones: Object.fromEntries(Object.entries(tones).map(([tone, token]) => [tone, resolved(token)])),
  };
  probe.remove();
  return colours;
}

const font = '12px "Inter Variable", system-ui, sans-serif';
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

type OptionsProps = {
  series: readonly Series[];
  kind: string;
  size: PlotProps["size"];
  unit: string | undefined;
  zone: string;
  onMove(plot: uPlot): void;
  onDraw(plot: uPlot): void;
};

function optionsOf(
  element: HTMLElement,
  { series, kind, size, unit, zone, onMove, onDraw }: OptionsProps,
): uPlot.Options {
  const { text, line, tones } = coloursOf(element);
  const isSmall = size === "small";
  const axis = { font, stroke: text, ticks: { show: false } };
  const bars = uPlot.paths.bars?.({ size: [0.8, 40], radius: 0.15 });
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), zone),
    legend: { show: false },
    padding: [8, isSmall ? 20 : 28, 0, 0],
    cursor: { drag: { x: false, y: false }, y: false, points: { show: kind !== "bars" } },
    scales: {
      // Half a bar of space at both ends.
      x: {
        range: (plot, least, most) =>
          kind === "bars" ? [least - halfStep(plot), most + halfStep(plot)] : [least, most],
      },
      y: {
        range: (_plot, least, most) =>
          kind === "percent" ? [0, 100] : kind === "area" ? levelRange(least, most) : [0, Math.max(1, most * 1.05)],
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        gap: 4,
        space: (_plot, _axis, least, most, width) => tickSpace(most - least, width, size === "large" ? 64 : 44),
        values: (_plot, values, _axis, _space, step) => values.map((at) => tickText(at, step, zone)),
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: isSmall ? 30 : unit ? 56 : 44,
        space: size === "large" ? 52 : isSmall ? 24 : 30,
        gap: 6,
        values: (_plot, values) =>
          values.map((value) =>
            Number.isInteger(value) ? [compact.format(value), unit].filter(Boolean).join(" ") : "",
          ),
      },
    ],
    // The sum of all is drawn first, the others over it.
    series: [
      {},
      ...[...series].reverse().map(({ tone }) => {
        const colour = tones[tone] ?? text;
        return kind === "bars" && bars
          ? { fill: colour, stroke: colour, width: 0, paths: bars, points: { show: false } }
          : {
              fill: softOf(colour),
              stroke: colour,
              width: 1.5,
              points: { show: false },
            };
      }),
    ],
    // Each level is filled down to the one below it, so that their colours do not mix.
    bands: kind === "bars" ? [] : series.slice(1).map((_, at) => ({ series: [at + 1, at + 2] })),
    hooks: { setCursor: [onMove], draw: [onDraw] },
  };
}

const softOf = (colour: string) => `color-mix(in srgb, ${colour} 9%, transparent)`;

/** Half the distance of two values, in seconds. */
function halfStep({ data: [x] }: uPlot): number {
  const [first, second] = x;
  return first === undefined || second === undefined ? 1 : (second - first) / 2;
}

const [minuteSeconds, daySeconds] = [60, 86_400];

/** The least distance of two instants of the axis in pixels: those with seconds are longer. */
const tickSpace = (seconds: number, width: number, least: number): number =>
  (least * seconds) / width < minuteSeconds ? 72 : least;

/** An instant of the axis: the day, or the time within a day, with seconds where a minute has several. */
function tickText(seconds: number, step: number, timeZone: string): string {
  const parts: Intl.DateTimeFormatOptions =
    step >= daySeconds
      ? { day: "numeric", month: "short" }
      : {
          hour: "2-digit",
          minute: "2-digit",
          hourCycle: "h23",
          ...(step < minuteSeconds ? { second: "2-digit" } : {}),
        };
  return new Intl.DateTimeFormat("en", { ...parts, timeZone }).format(new Date(seconds * 1_000));
}

/** What is drawn: the instants, then the sums of the series from all of them down to the first. */
function columnsOf(all: readonly Point[], series: number, kind: PlotProps["kind"]): uPlot.AlignedData {
  const [x = [], ...sums] = stacked(all, series);
  // Behind the bar below it, an empty one would show at its edges.
  const drawn = sums.map((column, at) =>
    kind === "bars" ? column.map((sum, index) => (all[index]?.values[at] ? sum : null)) : column,
  );
  return [x, ...drawn.reverse()];
}

/** The chart itself, once it is loaded. */
export default function Plot({ label, describedBy, series, points, kind, size, unit, mark }: PlotProps) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [shown, show] = useState<Shown | null>(null);
  const [markAt, setMarkAt] = useState<Corner | null>(null);
  const zone = zoneName(useZone());
  const theme = useThemeChanges();
  const short = useShortTime();
  const latest = useRef(points);
  latest.current = points;
  const markIndex = useRef<number | undefined>(undefined);
  markIndex.current = mark?.index;
  const dataOf = (all: readonly Point[]) => columnsOf(all, series.length, kind);
  const names = series.map(({ name, tone }) => `${name} ${tone}`).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: made again for what it cannot change
  useEffect(() => {
    const box = element.current;
    if (!box) return;
    const onMove = ({ cursor: { idx, left = -1 } }: uPlot) =>
      show(idx === null || idx === undefined || left < 0 ? null : { index: idx, left });
    const onDraw = (drawn: uPlot) => setMarkAt((before) => positionOf(drawn, markIndex.current, before));
    const made = new uPlot(
      optionsOf(box, { series, kind, size, unit, zone, onMove, onDraw }),
      dataOf(latest.current),
      box,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: box.clientHeight }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [names, kind, zone, theme]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the data alone
  useEffect(() => plot.current?.setData(dataOf(points)), [points]);

  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || points.length === 0 || !plot.current) return;
    event.preventDefault();
    const last = points.length - 1;
    const index = shown ? Math.min(last, Math.max(0, shown.index + by)) : by < 0 ? last : 0;
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
          <b>{short(new Date(point.at), "toMinute")}</b>
          {series.map(({ name }, at) => (
            <span key={name} className="number">
              {at > 0 ? " · " : ""}
              {(point.values[at] ?? 0).toLocaleString(undefined, { maximumFractionDigits: 1 })}
              {kind === "percent" ? " %" : ` ${name.toLowerCase()}`}
            </span>
          ))}
        </div>
      ) : null}
      {mark && markAt && !shown ? (
        <MarkedMoment at={markAt} box={element.current} of={mark} time={points[mark.index]?.at} kind={kind} />
      ) : null}
    </div>
  );
}

type MarkedMomentProps = {
  at: Corner;
  box: HTMLElement | null;
  of: Mark;
  time: string | undefined;
  kind: PlotProps["kind"];
};

/** A ring at the value, and what is said of it below; at a bar, beside it. */
function MarkedMoment({ at: { left, top }, box, of: { title, text }, time, kind }: MarkedMomentProps) {
  const short = useShortTime();
  const isBar = kind === "bars";
  return (
    <div className={styles.mark} data-is-bar={isBar || undefined} style={{ left, top }} aria-hidden>
      <div className={styles.tip} data-is-mark style={isBar ? besideBar(left, box) : markTipStyle(left, box)}>
        <b>{title ?? (time ? short(new Date(time), "toMinute") : null)}</b>
        {text}
      </div>
    </div>
  );
}

/** Where the marked value of the first series is, in pixels of the chart; the one before while it has not moved. */
function positionOf(plot: uPlot, index: number | undefined, before: Corner | null): Corner | null {
  const at = index === undefined ? undefined : plot.data[0][index];
  const value = index === undefined ? undefined : plot.data.at(-1)?.[index];
  if (at === undefined || value === undefined || value === null) return null;
  const left = Math.round(plot.over.offsetLeft + plot.valToPos(at, "x"));
  const top = Math.round(plot.over.offsetTop + plot.valToPos(value, "y"));
  return before && before.left === left && before.top === top ? before : { left, top };
}

/** In the middle below it, and inside the chart where it is near an end. */
function markTipStyle(left: number, box: HTMLElement | null): CSSProperties {
  const width = box?.clientWidth ?? 0;
  const shift = left < 110 ? "-1rem" : left > width - 110 ? "calc(-100% + 1rem)" : "-50%";
  return { "--shift": shift } as CSSProperties;
}

/** On the side of a bar where there is room. */
function besideBar(left: number, box: HTMLElement | null): CSSProperties {
  const isRight = left > (box?.clientWidth ?? 0) / 2;
  return { "--shift": isRight ? "calc(-100% - 1.75rem)" : "1.75rem" } as CSSProperties;
}

/** Beside the pointer, on the side where there is room. Pixels of the axis included. */
function tipStyle(left: number, box: HTMLElement | null): CSSProperties {
  const x = left + 48;
  const isRight = x > (box?.clientWidth ?? 0) / 2;
  return { left: `${x}px`, "--shift": isRight ? "calc(-100% - 0.75rem)" : "0.75rem" } as CSSProperties;
}

/** Counts the changes of the theme: a canvas keeps the colours that it was painted with. */
function useThemeChanges(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const changed = () => setCount((before) => before + 1);
    // On paper the theme is the light one.
    const queries = ["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query));
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
