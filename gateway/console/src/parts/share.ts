import type { CSSProperties } from "react";

/** How much of a whole a bar fills, for its style. */
export const share = (part: number, all: number) =>
  ({ "--share": `${(part / Math.max(1, all)) * 100}%` }) as CSSProperties;
