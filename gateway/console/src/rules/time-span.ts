type How = { timeZone: string; locale?: string };

/** Two instants as one text, both with their day; with the year where it is not that of `now`. */
export function timeSpan(from: Date, until: Date, now: Date, { timeZone, locale }: How): string {
  const yearOf = (at: Date) => new Intl.DateTimeFormat(locale, { year: "numeric", timeZone }).format(at);
  const isThisYear = yearOf(from) === yearOf(now) && yearOf(until) === yearOf(now);
  const text = new Intl.DateTimeFormat(locale, {
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZone,
    ...(isThisYear ? {} : { year: "numeric" }),
  });
  return `${text.format(from)} – ${text.format(until)}`;
}
