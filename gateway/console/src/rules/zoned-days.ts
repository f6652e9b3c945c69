/** How far a zone is ahead of UTC at an instant, in milliseconds. */
function offsetMs(atMs: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(atMs);
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const wall = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return wall - Math.floor(atMs / 1_000) * 1_000;
}

/** The instant at which a day (`2026-11-26`) begins in a zone. */
export function startOfDay(day: string, timeZone: string): Date {
  const midnightMs = Date.parse(`${day}T00:00:00Z`);
  const firstMs = midnightMs - offsetMs(midnightMs, timeZone);
  // The offset of the day's own beginning, where the clocks change that day.
  return new Date(midnightMs - offsetMs(firstMs, timeZone));
}

/** The last millisecond of a day in a zone. */
export function endOfDay(day: string, timeZone: string): Date {
  const next = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  return new Date(startOfDay(next, timeZone).getTime() - 1);
}

/** The day of an instant in a zone; empty for a text that is no instant. */
export function zonedDay(instant: string, timeZone: string): string {
  const atMs = Date.parse(instant);
  return Number.isNaN(atMs) ? "" : new Date(atMs + offsetMs(atMs, timeZone)).toISOString().slice(0, 10);
}
