const steps: readonly (readonly [number, Intl.RelativeTimeFormatUnit])[] = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
  [Number.POSITIVE_INFINITY, "year"],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/** The clocks of two machines differ by as much. */
const skewSeconds = 2;

/** How long ago an instant was, or how far ahead it is: `3 hr. ago`, `in 2 days`. */
export function ago(instant: Date, now: Date): string {
  let amount = (instant.getTime() - now.getTime()) / 1_000;
  if (amount > 0 && amount <= skewSeconds) amount = 0;
  for (const [most, unit] of steps) {
    if (Math.abs(Math.round(amount)) < most) return words.format(Math.round(amount), unit);
    amount /= most;
  }
  return words.format(Math.round(amount), "year");
}
