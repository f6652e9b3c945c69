import type { ReactNode } from "react";
import type { Tone } from "../rules/tone.ts";
import styles from "./segments.module.css";

type Segment = { key: string; title: string; tone: Tone | null; count: number | null };
type SegmentsProps = {
  label: string;
  of: readonly Segment[];
  chosen: string | null;
  choose(key: string): void;
  /** Further choices, after the parts. */
  children?: ReactNode;
};

/** Parts of a list with how many rows each has; one narrows the list to it. */
export const Segments = ({ label, of: segments, chosen, choose, children }: SegmentsProps) => (
  <fieldset className={styles.segments}>
    <legend className="visually-hidden">{label}</legend>
    {segments.map(({ key, title, tone, count }) => (
      <button
        key={key}
        type="button"
        data-tone={tone ?? undefined}
        aria-pressed={key === chosen}
        onClick={() => choose(key)}
      >
        {title}
        {count === null ? null : <b className="number">{count.toLocaleString()}</b>}
      </button>
    ))}
    {children}
  </fieldset>
);
