import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import type { Tone } from "../rules/tone.ts";
import styles from "./segments.module.css";
import { scrollTo } from "./use-scroll-to-current.ts";

type Segment = { key: string; title: string; tone: Tone | null; count: number | null };
type SegmentsProps = {
  label: string;
  of: readonly Segment[];
  chosen: string | null;
  choose(key: string): void;
  /** The key of all rows: pressing the part that is chosen goes back there. */
  whole?: string;
};

/** Parts of a list with how many rows each has; one narrows the list to it. On a phone the whole has no button. */
export function Segments({ label, of: segments, chosen, choose, whole }: SegmentsProps) {
  const row = useRef<HTMLFieldSetElement>(null);
  const count = segments.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: more parts push the chosen one out of sight
  useEffect(() => {
    const pressed = row.current?.querySelector('[aria-pressed="true"]');
    if (whole !== undefined && row.current?.parentElement && pressed) scrollTo(row.current.parentElement, pressed);
  }, [chosen, count, whole]);
  return (
    <fieldset ref={row} className={styles.segments}>
      <legend className="visually-hidden">{label}</legend>
      {segments.map(({ key, title, tone, count }) => (
        <button
          key={key}
          type="button"
          data-tone={tone ?? undefined}
          data-whole={key === whole || undefined}
          aria-pressed={key === chosen}
          onClick={() => choose(key === chosen && whole !== undefined ? whole : key)}
        >
          {title}
          {count === null ? null : <b className="number">{count.toLocaleString()}</b>}
          {key === chosen && whole !== undefined && key !== whole ? <X size={13} aria-hidden /> : null}
        </button>
      ))}
    </fieldset>
  );
}
