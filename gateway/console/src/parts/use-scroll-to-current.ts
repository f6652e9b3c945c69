import { useLocation } from "@tanstack/react-router";
import { type RefObject, useEffect, useRef } from "react";

/** For a row of links that may be wider than the screen: scrolls it sideways until the current one is visible. */
export function useScrollToCurrent<E extends HTMLElement>(): RefObject<E | null> {
  const row = useRef<E>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has another current link
  useEffect(() => {
    const current = row.current?.querySelector("[aria-current]")?.getBoundingClientRect();
    if (!row.current || !current) return;
    const { left, width } = row.current.getBoundingClientRect();
    row.current.scrollLeft += current.left - left - (width - current.width) / 2;
  }, [pathname]);
  return row;
}
