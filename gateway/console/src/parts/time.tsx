import { useEffect, useState } from "react";
import { ago } from "../rules/ago.ts";

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** An instant: how long ago, with the instant itself beside it for whoever points at it. */
export function Time({ at }: { at: string | null }) {
  const now = useNow(30_000);
  if (at === null) return <span className="soft">never</span>;
  const instant = new Date(at);
  return (
    <time dateTime={at} title={`${exact.format(instant)} · ${at}`}>
      {ago(instant, now)}
    </time>
  );
}

/** An instant to the second, as audits want it. */
export const Instant = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {exact.format(new Date(at))}
  </time>
);

/** The time, anew every so often while the page is looked at. */
export function useNow(everyMs: number): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setNow(new Date());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
