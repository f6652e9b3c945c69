import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import type { TableLine } from "../rules/table-lines.ts";
import { chosenDensity } from "./theme.ts";

/**
 * Heights of a row, in pixels, as the styles have them: by the density, and of the cards of a phone, which are measured
 * once they are in the page, and the gap between those.
 */
const rowPx = { usual: 41, compact: 32, card: 92 };
const cardGapPx = 8;
/** Height of a heading between rows. */
const groupPx = 37;

/** The height of a row now. */
function useRowPx(): number {
  const narrow = useMemo(() => matchMedia("(width < 48rem)"), []);
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener("change", listener);
      addEventListener("resize", listener);
      return () => {
        narrow.removeEventListener("change", listener);
        removeEventListener("resize", listener);
      };
    },
    () => (narrow.matches ? rowPx.card : rowPx[chosenDensity()]),
  );
}

/** The lines that are in the DOM: those in sight, and some around them. */
export function useVirtualRows(lines: readonly TableLine[], scroller: RefObject<HTMLElement | null>) {
  const heightPx = useRowPx();
  const isCard = heightPx === rowPx.card;
  const virtual = useVirtualizer({
    count: lines.length,
    indexAttribute: "data-line",
    // Measured heights stay with their rows when a heading comes between.
    getItemKey: useCallback((line: number) => lines[line]?.key ?? line, [lines]),
    // On a phone the page scrolls, not the table.
    getScrollElement: () => (isCard ? document.getElementById("main") : scroller.current),
    estimateSize: (line) => (lines[line]?.heading === null ? heightPx : groupPx),
    gap: isCard ? cardGapPx : 0,
    scrollMargin: isCard ? (scroller.current?.offsetTop ?? 0) : 0,
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other heights are measured again
  useEffect(() => virtual.measure(), [heightPx]);
  return { virtual, isCard };
}
