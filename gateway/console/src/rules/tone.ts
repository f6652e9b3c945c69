/** What a state means for its reader: all is well, it needs attention, it fails, it is under work, it is quiet. */
export type Tone = "good" | "warn" | "bad" | "run" | "off";

const ranks: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, run: 2, good: 3, off: 4 };

/** Rows with the failing ones first and the quiet ones last, those of one tone in the order that they have. */
export const worstFirst = <Row>(rows: readonly Row[], toneOf: (row: Row) => Tone): Row[] =>
  rows.toSorted((one, other) => ranks[toneOf(one)] - ranks[toneOf(other)]);
