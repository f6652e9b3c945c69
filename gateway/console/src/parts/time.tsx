import { useEffect, useState } from "react";
import { ago } from "../rules/ago.ts";

const setting = "muster.time-zone";

/** Which zone times are shown in: the browser's, or UTC as logs and audits have it. */
export type Zone = "browser" | "UTC";
export const chosenZone = (): Zone => (localStorage.getItem(setting) === "UTC" ? "UTC" : "browser");

/** Holds from the next page on. */
export function chooseZone(zone: Zone): void {
  if (zone === "browser") localStorage.removeItem(setting);
  else localStorage.setItem(setting, zone);
  exact = formatOf(zone);
}

// An offset stands beside times of UTC, which nobody would guess.
const formatOf = (zone: Zone) => {
  const format = new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium",
    timeStyle: "medium",
    ...(zone === "UTC" ? { timeZone: "UTC" } : {}),
  });
  return (at: Date) => `${format.format(at)}${zone === "UTC" ? " UTC" : ""}`;
};
let exact = formatOf(chosenZone());

/** An instant: how long ago, with the instant itself beside it for whoever points at it. */
export function Time({ at }: { at: string | null }) {
  useNow(30_000);
  if (at === null) return <span className="soft">never</span>;
  const instant = new Date(at);
  return (
    <time dateTime={at} title={`${exact(instant)} · ${at}`}>
      {/* Not the last tick: what came since would lie ahead of it. */}
      {ago(instant, new Date())}
    </time>
  );
}

/** An instant to the second, as audits want it. */
export const Instant = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {exact(new Date(at))}
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
