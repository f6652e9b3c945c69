import { useLocation } from "@tanstack/react-router";
import { type RefObject, useEffect, useRef } from "react";

/** Scrolls a row sideways until one of its controls is in its middle, as far as the row goes. */
export function scrollTo(row: HTMLElement, current: Element): void {
  const [within, shown] = [row.getBoundingClientRect(), current.getBoundingClientRect()];
  row.scrollLeft += shown.left - within.left - (within.width - shown.width) / 2;
}

/** For a row of links that may be wider than the screen: scrolls it sideways until the current one is visible. */
export function useScrollToCurrent<E extends HTMLElement>(): RefObject<E | null> {
  const row = useRef<E>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has another current link
  useEffect(() => {
    const current = row.current?.querySelector("[aria-current]");
    if (row.current && current) scrollTo(row.current, current);
  }, [pathname]);
  return row;
}
