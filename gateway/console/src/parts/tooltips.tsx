import { lazy, Suspense, useEffect, useState } from "react";

const TooltipPopup = lazy(() => import("./tooltip-popup.tsx"));

/** Milliseconds that the pointer rests on an element before its text appears; the focus shows it at once. */
const restMs = 400;

/**
 * Shows the text of `data-tip` of whatever element has the pointer or the focus. One layer for the page: elements are
 * plain, and its behaviour is loaded with the first text.
 */
export function Tooltips() {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (target: EventTarget | null, afterMs: number) => {
      clearTimeout(timer);
      const found = target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;
      if (!found) return setAnchor(null);
      timer = setTimeout(() => setAnchor(found), afterMs);
    };
    const onPointer = ({ target, pointerType }: PointerEvent) => pointerType === "mouse" && show(target, restMs);
    const onFocus = ({ target }: FocusEvent) =>
      show(target instanceof Element && target.matches(":focus-visible") ? target : null, 0);
    const hide = () => show(null, 0);
    const onKey = ({ key }: KeyboardEvent) => key === "Escape" && hide();
    document.addEventListener("pointerover", onPointer);
    document.addEventListener("focusin", onFocus);
    document.addEventListener("focusout", hide);
    document.addEventListener("pointerdown", hide);
    document.addEventListener("keydown", onKey);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("pointerover", onPointer);
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("focusout", hide);
      document.removeEventListener("pointerdown", hide);
      document.removeEventListener("keydown", onKey);
    };
  }, []);
  if (!anchor?.isConnected) return null;
  return (
    <Suspense>
      <TooltipPopup anchor={anchor} />
    </Suspense>
  );
}
