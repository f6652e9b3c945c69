import { zonedDay } from "./zoned-days.ts";

const dayMs = 86_400_000;

type How = { timeZone: string; locale?: string };

/** The heading of the day of an instant in a zone: with "Today" and "Yesterday", and the year where it is another. */
export function dayHeading(instant: string, now: Date, { timeZone, locale }: How): string {
  const [day, today] = [zonedDay(instant, timeZone), zonedDay(now.toISOString(), timeZone)];
  const yesterday = zonedDay(new Date(now.getTime() - dayMs).toISOString(), timeZone);
  const named = { weekday: "long", month: "long", day: "numeric", timeZone } as const;
  const format = day.slice(0, 4) === today.slice(0, 4) ? named : ({ ...named, year: "numeric" } as const);
  const date = new Intl.DateTimeFormat(locale, format).format(new Date(instant));
  return day === today ? `Today, ${date}` : day === yesterday ? `Yesterday, ${date}` : date;
}
