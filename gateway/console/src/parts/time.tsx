import { useEffect, useState } from "react";
import { ago } from "../rules/ago.ts";

const setting = "muster.time-zone";

/** Which zone times are shown in: the browser's own, UTC as logs and audits have it, or one by its IANA name. */
export const chosenZone = (): string => zoneOf(localStorage.getItem(setting) ?? "browser");

/** Takes effect with the next page. */
export function chooseZone(zone: string): void {
  if (zone === "browser") localStorage.removeItem(setting);
  else localStorage.setItem(setting, zone);
  exact = formatOf(zoneOf(zone));
}

/** The browser's own zone replaces one that this browser does not know. */
function zoneOf(zone: string): string {
  if (zone === "browser") return zone;
  try {
    new Intl.DateTimeFormat(undefined, { timeZone: zone });
    return zone;
  } catch {
    return "browser";
  }
}

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
let exact = formatOf(chosenZone());

/** An instant: how long ago, with the instant itself as a tooltip. */
export function Time({ at }: { at: string | null }) {
  useNow(30_000);
  if (at === null) return <span className="soft">never</span>;
  const instant = new Date(at);
  return (
    <time dateTime={at} title={`${exact(instant)} · ${at}`}>
      {/* Not the last tick: newer instants would be in its future. */}
      {ago(instant, new Date())}
    </time>
  );
}

/** An instant to the second, as audits require. */
export const Instant = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {exact(new Date(at))}
  </time>
);

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
