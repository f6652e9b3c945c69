import { type RefCallback, useCallback, useState } from "react";

/** Whether an element is visible; true until the browser reports otherwise. */
export function useVisibility(): [RefCallback<Element>, boolean] {
  const [isVisible, setVisible] = useState(true);
  const watch = useCallback((element: Element | null) => {
    if (element === null) return;
    const observer = new IntersectionObserver((entries) => setVisible(entries.at(-1)?.isIntersecting ?? true));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [watch, isVisible];
}
