import { useEffect, useState } from "react";
import { ago } from "../rules/ago.ts";
import { shortTime } from "../rules/short-time.ts";
import { useZone, zoneName } from "./zone.ts";

/** Times of another zone than the browser's name their zone, since users would not expect it. */
const suffixOf = (zone: string) =>
  zone === "browser" ? "" : ` ${zone.slice(zone.lastIndexOf("/") + 1).replaceAll("_", " ")}`;

const formatOf = (zone: string) => {
  const format = new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium",
    timeStyle: "medium",
    timeZone: zoneName(zone),
  });
  return (at: Date) => `${format.format(at)}${suffixOf(zone)}`;
};

const formats = new Map<string, (at: Date) => string>();

/** An instant as text with its year and second, in the zone that the user chose. */
export function useExactTime(): (at: Date) => string {
  const zone = useZone();
  const format = formats.get(zone) ?? formatOf(zone);
  formats.set(zone, format);
  return format;
}

/** An instant as short as it stays clear, in the zone that the user chose; `toMinute` leaves the seconds out. */
export function useShortTime(): (at: Date, precision?: "toMinute") => string {
  const zone = useZone();
  const timeZone = zoneName(zone);
  return (at, precision) =>
    `${shortTime(at, new Date(), { timeZone, hasSeconds: precision !== "toMinute" })}${suffixOf(zone)}`;
}

type TimeProps = {
  at: string | null;
  style?: "short" | "long";
  /** What is said of it in place of how long ago it was. */
  as?: string;
};

/** An instant: how long ago, in short or in whole words, with the instant itself as a tooltip. */
export function Time({ at, style = "short", as }: TimeProps) {
  useNow(30_000);
  const exact = useExactTime();
  if (at === null) return <span className="soft">never</span>;
  const instant = new Date(at);
  return (
    <time dateTime={at} className="number" data-tip={`${exact(instant)} · ${at}`}>
      {/* Not the last tick: newer instants would be in its future. */}
      {as ?? ago(instant, new Date(), style)}
    </time>
  );
}

/** An instant in short, with the exact one as a tooltip. */
export function Instant({ at }: { at: string }) {
  const [exact, short] = [useExactTime(), useShortTime()];
  const instant = new Date(at);
  return (
    <time dateTime={at} className="number" data-tip={`${exact(instant)} · ${at}`}>
      {short(instant)}
    </time>
  );
}

/** An instant with its year and to the second, as audits require. */
export function ExactInstant({ at }: { at: string }) {
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
