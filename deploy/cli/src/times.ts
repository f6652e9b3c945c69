const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const ago = /^(\d{1,6})([mhd])$/;

/** A time ago, such as `30m`, `1h` or `7d`, as an ISO 8601 time; any other text is left to the API. */
export function timeOf(text: string, now: Date): string {
  const [, count, unit] = ago.exec(text) ?? [];
  if (count === undefined || (unit !== "m" && unit !== "h" && unit !== "d")) return text;
  return new Date(now.getTime() - Number(count) * unitMs[unit]).toISOString();
}

const filters = [
  "from",
  "to",
  "since",
  "until",
  "startDate",
  "endDate",
  "startTime",
  "endTime",
  "seenAfter",
  "seenBefore",
];

/** The value of a filter, where that is a time. */
export const filterOf = (name: string, text: string, now: Date): string =>
  filters.includes(name) ? timeOf(text, now) : text;
