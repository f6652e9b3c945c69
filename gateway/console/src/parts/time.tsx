import { useEffect, useState } from "react";
import { ago } from "../rules/ago.ts";
import { useZone } from "./zone.ts";

// Times of another zone than the browser's name their zone, since users would not expect it.
const formatOf = (zone: string) => {
  const format = new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium",
    timeStyle: "medium",
    ...(zone === "browser" ? {} : { timeZone: zone }),
  });
  const name = zone === "browser" ? "" : ` ${zone.slice(zone.lastIndexOf("/") + 1).replaceAll("_", " ")}`;
  return (at: Date) => `${format.format(at)}${name}`;
};

const formats = new Map<string, (at: Date) => string>();

/** An instant as text, in the zone that the user chose. */
export function useExactTime(): (at: Date) => string {
  const zone = useZone();
  const format = formats.get(zone) ?? formatOf(zone);
  formats.set(zone, format);
  return format;
}

/** An instant: how long ago, with the instant itself as a tooltip. */
export function Time({ at }: { at: string | null }) {
  useNow(30_000);
  const exact = useExactTime();
  if (at === null) return <span className="soft">never</span>;
  const instant = new Date(at);
  return (
    <time dateTime={at} className="number" data-tip={`${exact(instant)} · ${at}`}>
      {/* Not the last tick: newer instants would be in its future. */}
      {ago(instant, new Date())}
    </time>
  );
}

/** An instant to the second, as audits require. */
export function Instant({ at }: { at: string }) {
  const exact = useExactTime();
  return (
    <time dateTime={at} className="number" data-tip={at}>
      {exact(new Date(at))}
    </time>
  );
}

/** The current time, refreshed at an interval while the page is visible. */
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
