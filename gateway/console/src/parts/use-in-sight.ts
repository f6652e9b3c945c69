import { type RefCallback, useCallback, useState } from "react";

/** Whether an element is in sight; true until the browser reports otherwise. */
export function useInSight(): [RefCallback<Element>, boolean] {
  const [isInSight, setInSight] = useState(true);
  const watch = useCallback((element: Element | null) => {
    if (element === null) return;
    const observer = new IntersectionObserver((entries) => setInSight(entries.at(-1)?.isIntersecting ?? true));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [watch, isInSight];
}
