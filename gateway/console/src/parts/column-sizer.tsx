import { useRef } from "react";
import { narrowest, widest, widthWithin } from "../rules/column-choice.ts";
import type { Sizing } from "./column.ts";
import styles from "./table.module.css";

/** How far a key widens or narrows a column, in pixels. */
const stepPx = 16;

/**
 * The edge of a column: dragged, or moved by the arrow keys. All columns get the width that they have, so that what is
 * left for one is not taken from another; a double click brings the usual ones back.
 */
export function ColumnSizer({ id, title, widths, change }: { id: string; title: string } & Sizing) {
  const edge = useRef<HTMLHRElement>(null);
  const started = useRef<{ x: number; px: number } | null>(null);
  const table = () => edge.current?.closest("table");
  const measured = () =>
    Object.fromEntries(
      [...(table()?.querySelectorAll<HTMLElement>("th[data-column]") ?? [])]
        .filter(({ offsetWidth }) => offsetWidth > 0)
        .map(({ dataset, offsetWidth }) => [String(dataset.column), offsetWidth]),
    );
  const resize = (px: number) => change({ ...widths, ...measured(), [id]: widthWithin(px) });
  const dragged = ({ clientX }: { clientX: number }) => {
    const { x, px } = started.current ?? { x: clientX, px: 0 };
    return widthWithin(px + clientX - x);
  };
  return (
    <hr
      ref={edge}
      className={styles.sizer}
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${title}`}
      aria-valuemin={narrowest}
      aria-valuemax={widest}
      aria-valuenow={widths[id] ?? narrowest}
      aria-valuetext={widths[id] === undefined ? "usual" : `${widths[id]} pixels`}
      data-tip="Drag, or press an arrow key; a double click restores the default widths"
      onKeyDown={(event) => {
        const by = { ArrowLeft: -stepPx, ArrowRight: stepPx }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        resize((measured()[id] ?? 0) + by);
      }}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        started.current = { x: event.clientX, px: measured()[id] ?? 0 };
      }}
      onPointerMove={(event) => {
        if (started.current === null) return;
        // While it is dragged the width concerns this column alone; it is stored when the edge is released.
        const column = table()?.querySelector<HTMLElement>(`col[data-column="${CSS.escape(id)}"]`);
        column?.style.setProperty("--column-width", `${dragged(event)}px`);
      }}
      onPointerUp={(event) => {
        if (started.current === null) return;
        const isMoved = event.clientX !== started.current.x;
        const px = dragged(event);
        started.current = null;
        if (isMoved) resize(px);
      }}
      onPointerCancel={() => {
        started.current = null;
      }}
      onDoubleClick={() => change({})}
    />
  );
}
