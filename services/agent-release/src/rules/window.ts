/** Days of a maintenance window, as Date.getUTCDay counts them. */
export const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
export type Day = (typeof days)[number];

/** Times of day in UTC, [start, end); null is unset. */
export type Window = { days: readonly Day[] | null; start: number | null; end: number | null };

const dayMinutes = 1_440;
const minuteMs = 60_000;
const dayMs = dayMinutes * minuteMs;

/**
 * Whether updates may begin now, and when the window opens next (null while it is open, and without a window). A window
 * over midnight belongs to the day on which it starts; start and end alike are the whole day; nothing set is always
 * open.
 */
export function windowAt(window: Window, now: Date): { open: boolean; nextOpening: Date | null } {
  if (window.days === null && window.start === null && window.end === null) return { open: true, nextOpening: null };
  const start = window.start ?? 0;
  const end = window.end ?? dayMinutes;
  const lengthMinutes = end > start ? end - start : end === start ? dayMinutes : dayMinutes - start + end;
  const on = new Set(window.days ?? days);
  const today = Math.floor(now.getTime() / dayMs) * dayMs;
  const at = now.getTime();
  // Yesterday's window may reach into today; a week and a day ahead every window has started once.
  for (let offset = -1; offset <= 7; offset++) {
    const day = today + offset * dayMs;
    if (!on.has(days[new Date(day).getUTCDay()] as Day)) continue;
    const opens = day + start * minuteMs;
    const closes = opens + lengthMinutes * minuteMs;
    if (closes <= at) continue;
    return opens <= at ? { open: true, nextOpening: null } : { open: false, nextOpening: new Date(opens) };
  }
  return { open: false, nextOpening: null };
}
