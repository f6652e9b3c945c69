const steps: readonly (readonly [number, Intl.RelativeTimeFormatUnit])[] = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
  [Number.POSITIVE_INFINITY, "year"],
];
const words = {
  short: new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" }),
  long: new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" }),
};

/** Units of a clock are short; those of a calendar are hardly longer as whole words. */
const isClock = (unit: Intl.RelativeTimeFormatUnit) => unit === "second" || unit === "minute" || unit === "hour";

/** The clocks of two machines differ by as much. */
const skewSeconds = 2;

/**
 * How long ago an instant was, or how far ahead it is: `3 hr. ago`, `in 2 days`, `4 months ago`; long, as in sentences:
 * `3 hours ago`.
 */
export function ago(instant: Date, now: Date, style: "short" | "long" = "short"): string {
  let amount = (instant.getTime() - now.getTime()) / 1_000;
  if (amount > 0 && amount <= skewSeconds) amount = 0;
  for (const [most, unit] of steps) {
    if (Math.abs(Math.round(amount)) < most)
      return words[isClock(unit) ? style : "long"].format(Math.round(amount), unit);
    amount /= most;
  }
  return words.long.format(Math.round(amount), "year");
}

/** How long something has lasted, as it stands after "the last": `27 minutes`, `hour`; at least a minute. */
export function lasted(since: Date, now: Date): string {
  const minutes = Math.max(1, Math.round((now.getTime() - since.getTime()) / 60_000));
  const [amount, unit] =
    minutes < 60
      ? [minutes, "minute"]
      : minutes < 48 * 60
        ? [Math.round(minutes / 60), "hour"]
        : [Math.round(minutes / 1_440), "day"];
  return amount === 1 ? unit : `${amount.toLocaleString("en")} ${unit}s`;
}
