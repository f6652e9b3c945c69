import uPlot from "uplot";
import { cutTo } from "../rules/bar-cap.ts";
import { levelRange } from "../rules/level-range.ts";
import { type Point, stacked } from "../rules/stacked.ts";
import type { Tone } from "../rules/tone.ts";
import { barWidth, numberHeight } from "./plot-signs.ts";

export type Series = { name: string; tone: Tone };
/** Milliseconds since 1970 between which a chart is drawn, whatever it has of them. */
export type Range = { from: number; until: number };

/** What is drawn, and how. */
export type PlotShape = {
  series: readonly Series[];
  /** Counts of a span each as bars; levels, the first as a line and the sum of all as a dashed one; a percentage. */
  kind: "bars" | "area" | "percent";
  size?: "large" | "fitting" | "small";
  unit?: string;
  range?: Range;
  /** Of a line: it is broken where two values are farther apart. */
  stepMs?: number;
  /** Of a line of averages, where a corner at each of them would say too much: it bends, and is nowhere beyond them. */
  isSmooth?: true;
};

type Colours = { text: string; line: string; surface: string; high: string; tones: Record<string, Tint> };
type Tint = { full: string; soft: string };

/** Colours as a canvas takes them: the tokens, as the theme resolves them. */
export function coloursOf(element: HTMLElement): Colours {
  const probe = element.appendChild(document.createElement("span"));
  const resolved = (colour: string) => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  const mixed = (token: string, percent: number) => `color-mix(in srgb, var(${token}) ${percent}%, transparent)`;
  const tones = { good: "--good", bad: "--bad", run: "--accent", warn: "--warn", off: "--bar-off" };
  const tintOf = (token: string): Tint => ({
    full: resolved(`var(${token})`),
    soft: resolved(`light-dark(${mixed(token, 10)}, ${mixed(token, 24)})`),
  });
  const colours = {
    text: resolved("var(--text-soft)"),
    line: resolved("var(--line-soft)"),
    surface: resolved("var(--surface)"),
    high: resolved(mixed("--warn", 70)),
    tones: Object.fromEntries(Object.entries(tones).map(([tone, token]) => [tone, tintOf(token)])),
  };
  probe.remove();
  return colours;
}

const font = '12px "Inter Variable", system-ui, sans-serif';
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

type Hooks = {
  onMove(plot: uPlot): void;
  onDraw(plot: uPlot): void;
  rangeOf(): Range | undefined;
  /** Whether a bar is higher than the axis. */
  isCut(): boolean;
};
type Look = { zone: string; colours: Colours; isBare: boolean };

export function optionsOf(element: HTMLElement, shape: PlotShape, look: Look, hooks: Hooks): uPlot.Options {
  const { kind, size } = shape;
  const isSmall = size === "small";
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), look.zone),
    legend: { show: false },
    padding: look.isBare ? [2, 0, 2, 0] : [() => (hooks.isCut() ? numberHeight : 8), isSmall ? 20 : 28, 0, 0],
    cursor: { drag: { x: false, y: false }, y: false, points: { show: kind !== "bars" } },
    scales: {
      x: {
        range: (plot, least, most) => {
          // Half a bar of space at both ends.
          if (kind === "bars") return [least - halfStep(plot), most + halfStep(plot)];
          const { from, until } = hooks.rangeOf() ?? { from: least * 1_000, until: most * 1_000 };
          return [from / 1_000, until / 1_000];
        },
      },
      y: {
        range: (_plot, least, most) =>
          kind === "percent" ? [0, 100] : kind === "area" ? levelRange(least, most) : [0, Math.max(1, most * 1.05)],
      },
    },
    axes: axesOf(shape, look),
    series: [{}, ...seriesOf(shape, look)],
    hooks: { setCursor: [hooks.onMove], draw: [hooks.onDraw] },
  };
}

function axesOf({ size, unit }: PlotShape, { zone, colours: { text, line }, isBare }: Look): uPlot.Axis[] {
  const isSmall = size === "small";
  const axis = { show: !isBare, font, stroke: text, ticks: { show: false } };
  return [
    {
      ...axis,
      grid: { show: false },
      size: 26,
      gap: 7,
      space: (_plot, _axis, least, most, width) => tickSpace(most - least, width, size === "large" ? 64 : 44),
      values: (plot, values, _axis, _space, step) =>
        values.map((at) => (isAtStart(plot, at) ? "" : tickText(at, step, zone))),
    },
    {
      ...axis,
      grid: { stroke: line, width: 1 },
      size: isSmall ? 30 : unit ? 56 : 44,
      space: size === "large" ? 52 : isSmall ? 24 : 30,
      gap: 6,
      values: (_plot, values) =>
        values.map((value) => (Number.isInteger(value) ? [compact.format(value), unit].filter(Boolean).join(" ") : "")),
    },
  ];
}

/** The sum of all is drawn first, the others over it. */
function seriesOf({ series, kind, stepMs, isSmooth }: PlotShape, { colours: { text, tones } }: Look): uPlot.Series[] {
  const tintOf = ({ tone }: Series) => tones[tone] ?? { full: text, soft: text };
  const bars = uPlot.paths.bars?.({ size: [barWidth.share, barWidth.mostPx], radius: 0.15 });
  if (kind === "bars" && bars) {
    return [...series].reverse().map((each) => {
      const { full } = tintOf(each);
      return { fill: full, stroke: full, width: 0, paths: bars, points: { show: false } };
    });
  }
  const [first] = series;
  const tint = first ? tintOf(first) : { full: text, soft: text };
  const apart = stepMs === undefined ? Number.POSITIVE_INFINITY : (stepMs * 1.5) / 1_000;
  const broken = { gaps: gapsBeyond(apart) };
  const spline = isSmooth ? uPlot.paths.spline?.() : undefined;
  const sum: uPlot.Series = { stroke: text, width: 1, dash: [4, 4], points: { show: false }, ...broken };
  const level: uPlot.Series = {
    // From another value than zero on, an area would show a share that is none.
    fill: (plot) => (plot.scales.y?.min === 0 ? tint.soft : "transparent"),
    stroke: tint.full,
    width: 1.75,
    // A value between two gaps is no line.
    points: { size: 4, fill: tint.full, filter: (plot) => loneValues(plot.data[0], apart) },
    ...(spline ? { paths: spline } : {}),
    ...broken,
  };
  return series.length > 1 ? [sum, level] : [level];
}

/** Breaks a line where two of its values are farther apart than so many seconds. */
const gapsBeyond =
  (seconds: number): uPlot.Series.GapsRefiner =>
  (plot, _at, first, last, gaps) => {
    const [x] = plot.data;
    const left = (at: number) => Math.round(plot.valToPos(x[at] ?? 0, "x", true));
    for (let at = first + 1; at <= last; at++) {
      if ((x[at] ?? 0) - (x[at - 1] ?? 0) > seconds) gaps.push([left(at - 1), left(at)]);
    }
    return gaps;
  };

/** The values that are farther than so many seconds from those before and after them. */
const loneValues = (x: ArrayLike<number>, seconds: number): number[] =>
  Array.from(x, (at, index) => {
    const [before, after] = [
      at - (x[index - 1] ?? Number.NEGATIVE_INFINITY),
      (x[index + 1] ?? Number.POSITIVE_INFINITY) - at,
    ];
    return before > seconds && after > seconds ? index : -1;
  }).filter((index) => index >= 0);

/** What is drawn: the instants, then the sums of the series from all of them down to the first. */
export function columnsOf(all: readonly Point[], { series, kind }: PlotShape, cap: number | null): uPlot.AlignedData {
  const [x = [], ...sums] = stacked(
    all.map(({ at, values }) => ({ at, values: cutTo(cap, values) })),
    series.length,
  );
  if (kind !== "bars") {
    const [level = [], sum = []] = [sums[0], sums.at(-1)];
    return series.length > 1 ? [x, sum, level] : [x, level];
  }
  // Behind the bar below it, an empty one would show at its edges.
  const drawn = sums.map((column, at) => column.map((sum, index) => (all[index]?.values[at] ? sum : null)));
  return [x, ...drawn.reverse()];
}

/** Half the distance of two values, in seconds. */
function halfStep({ data: [x] }: uPlot): number {
  const [first, second] = x;
  return first === undefined || second === undefined ? 1 : (second - first) / 2;
}

const [minuteSeconds, daySeconds] = [60, 86_400];

/** The least distance of two instants of the axis in pixels: those with seconds are longer. */
const tickSpace = (seconds: number, width: number, least: number): number =>
  (least * seconds) / width < minuteSeconds ? 72 : least;

/** Half of a text below the axis, in pixels: nearer to its start it would stand below the lowest value. */
const halfText = 18;

function isAtStart(plot: uPlot, at: number): boolean {
  const { min, max } = plot.scales.x ?? {};
  if (min === undefined || max === undefined || max <= min) return false;
  const width = plot.bbox.width / devicePixelRatio;
  return width > 0 && ((at - min) / (max - min)) * width < halfText;
}

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
