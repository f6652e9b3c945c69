/**
 * What a bench measured. `held` says whether the value is within `atLeast` or `atMost`, which has the same unit; a
 * figure without a limit is a baseline or explains the others. `value` is null when there was no end of it.
 */
export type Figure = {
  name: string;
  value: number | null;
  unit: string;
  atLeast?: number;
  atMost?: number;
  held?: boolean;
};

/** Takes the figures of one run, each under a name of its own, in the order in which readers want them. */
export type Report = {
  readonly figures: readonly Figure[];
  atLeast(name: string, value: number, unit: string, limit: number): void;
  atMost(name: string, value: number, unit: string, limit: number): void;
  /** Counts of what must not happen, by name: each is held when it is 0. */
  none(counts: Readonly<Record<string, number>>): void;
  /** A figure without a limit. */
  also(name: string, value: number, unit: string): void;
};

export function newReport(): Report {
  const figures: Figure[] = [];
  const add = (name: string, value: number, unit: string, limit: Pick<Figure, "atLeast" | "atMost"> = {}) => {
    if (figures.some((figure) => figure.name === name)) throw new Error(`two figures are called ${name}`);
    const figure: Figure = { name, value: rounded(value), unit, ...limit };
    figures.push({ ...figure, ...(isLimited(figure) ? { held: isHeld(figure) } : {}) });
  };
  return {
    figures,
    atLeast: (name, value, unit, limit) => add(name, value, unit, { atLeast: limit }),
    atMost: (name, value, unit, limit) => add(name, value, unit, { atMost: limit }),
    none: (counts) => {
      for (const [name, count] of Object.entries(counts)) add(name, count, "", { atMost: 0 });
    },
    also: (name, value, unit) => add(name, value, unit),
  };
}

export const isLimited = ({ atLeast, atMost }: Figure): boolean => atLeast !== undefined || atMost !== undefined;

/** Whether a figure with a limit is within it. */
export function isHeld({ value, atLeast, atMost }: Figure): boolean {
  return value !== null && value >= (atLeast ?? value) && value <= (atMost ?? value);
}

/** `2,475 requests/s`, `3.5 %`, `0`. */
export function shown(value: number | null, unit: string): string {
  if (value === null) return "none";
  return `${value.toLocaleString("en-US", { maximumFractionDigits: 3 })} ${unit}`.trim();
}

/** `≥ 2,500`, `≤ 15`, or nothing. */
export function shownLimit({ atLeast, atMost }: Figure): string {
  if (atLeast !== undefined) return `≥ ${shown(atLeast, "")}`;
  return atMost === undefined ? "" : `≤ ${shown(atMost, "")}`;
}

/** As many digits as a run repeats: three, and all of a whole number. */
function rounded(value: number): number | null {
  if (!Number.isFinite(value)) return null;
  return Math.abs(value) >= 1_000 || Number.isInteger(value) ? Math.round(value) : Number(value.toPrecision(3));
}
