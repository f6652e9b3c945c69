import { validationError } from "@muster/kit";

/** A receiver's last answer: a range of statuses, or no answer. */
export type Answer = "none" | { from: number; to: number };

/** Reads `404`, `5xx` or `none`; null when empty. Throws `validation_failed` on others. */
export function answerOf(text: string): Answer | null {
  if (text === "") return null;
  if (text === "none") return "none";
  const [, digit, rest] = /^([1-5])(\d\d|xx)$/.exec(text) ?? [];
  if (digit === undefined) throw validationError({ answer: ["A status such as 404, a class such as 5xx, or none"] });
  if (rest === "xx") return { from: Number(digit) * 100, to: Number(digit) * 100 + 99 };
  return { from: Number(text), to: Number(text) };
}

export const hoursMax = 168;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export type Buckets = { bucketMs: number; starts: readonly Date[]; to: Date };

/** The last hours in at most 48 whole buckets; the newest is the current one. */
export function bucketsOf(now: Date, hours: number): Buckets {
  const bucketMs = hours <= 4 ? 5 * minuteMs : hours <= 48 ? hourMs : 6 * hourMs;
  const count = Math.ceil((hours * hourMs) / bucketMs);
  const newest = Math.floor(now.getTime() / bucketMs) * bucketMs;
  const starts = Array.from({ length: count }, (_, n) => new Date(newest - (count - 1 - n) * bucketMs));
  return { bucketMs, starts, to: now };
}
