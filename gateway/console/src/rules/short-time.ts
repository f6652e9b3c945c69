type Formats = Record<"time" | "minute" | "inYear" | "whole" | "day" | "year", Intl.DateTimeFormat>;

const formats = new Map<string, Formats>();

function formatsOf(timeZone: string, locale: string | undefined): Formats {
  const key = `${timeZone} ${locale}`;
  const before = formats.get(key);
  if (before) return before;
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, { ...options, timeZone });
  const inYear = { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" } as const;
  const made = {
    time: format({ timeStyle: "medium" }),
    minute: format({ timeStyle: "short" }),
    inYear: format(inYear),
    whole: format({ ...inYear, year: "numeric" }),
    day: format({ dateStyle: "short" }),
    year: format({ year: "numeric" }),
  };
  formats.set(key, made);
  return made;
}

type How = { timeZone: string; locale?: string; hasSeconds?: boolean };

/**
 * An instant as short as it stays clear in a zone: the time alone on the day of `now`, with its seconds unless they are
 * left out; the day and the minute within the year; else the year, too.
 */
export function shortTime(at: Date, now: Date, { timeZone, locale, hasSeconds = true }: How): string {
  const { time, minute, inYear, whole, day, year } = formatsOf(timeZone, locale);
  if (day.format(at) === day.format(now)) return (hasSeconds ? time : minute).format(at);
  return (year.format(at) === year.format(now) ? inYear : whole).format(at);
}
