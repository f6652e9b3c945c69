import type uPlot from "uplot";
import type { Point } from "../rules/stacked.ts";

/** From this percentage on a machine's load is high. */
export const highPercent = 80;

/** A dashed line, and that from it on a percentage is high. */
export function drawHigh({ ctx, bbox, valToPos }: uPlot, { line, text }: { line: string; text: string }): void {
  const top = Math.round(valToPos(highPercent, "y", true)) + 0.5;
  ctx.save();
  ctx.strokeStyle = line;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, top);
  ctx.lineTo(bbox.left + bbox.width, top);
  ctx.stroke();
  ctx.fillStyle = text;
  ctx.font = `${10 * devicePixelRatio}px "Inter Variable", system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.fillText("high", bbox.left + bbox.width, top - devicePixelRatio);
  ctx.restore();
}

/** How wide a bar is: its share of the room that it has, and pixels at most. */
export const barWidth = { share: 0.6, mostPx: 24 } as const;

const textFont = () => `${11 * devicePixelRatio}px "Inter Variable", system-ui, sans-serif`;

/** How far up a bar its break is, how far that slants, and how thick its two strokes are apart, in pixels. */
const [share, slant, distance] = [0.78, 5, 5];

/** What a broken bar's number needs above it, in pixels. */
export const numberHeight = 20;

/** Two slanted strokes through each bar that is higher than the axis, and above it how many it stands for. */
export function drawBreaks({ ctx, valToPos, data: [x] }: uPlot, of: BreaksOf): void {
  const { points, cap, surface, text } = of;
  const [first = 0, second = 1] = x;
  const room = valToPos(second, "x", true) - valToPos(first, "x", true);
  const half = Math.min(barWidth.mostPx * devicePixelRatio, barWidth.share * room) / 2;
  const top = valToPos(cap * share, "y", true);
  ctx.save();
  ctx.strokeStyle = surface;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.fillStyle = text;
  ctx.font = textFont();
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  points.forEach(({ values }, at) => {
    const sum = values.reduce((all, value) => all + value, 0);
    if (sum <= cap) return;
    const middle = valToPos(x[at] ?? 0, "x", true);
    for (const below of [0, distance * devicePixelRatio]) {
      ctx.beginPath();
      ctx.moveTo(middle - half - 2, top + below + slant * devicePixelRatio);
      ctx.lineTo(middle + half + 2, top + below - slant * devicePixelRatio);
      ctx.stroke();
    }
    ctx.fillText(sum.toLocaleString("en"), middle, valToPos(cap, "y", true) - 3 * devicePixelRatio);
  });
  ctx.restore();
}

type BreaksOf = { points: readonly Point[]; cap: number; surface: string; text: string };
