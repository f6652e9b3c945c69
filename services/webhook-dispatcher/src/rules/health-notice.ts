import type { Health, HealthStatus } from "@muster/kit";

/** What the next mail about a webhook that fails on follows from. */
export type Reminded = {
  failing_since: Date | null;
  /** For how many hours it had failed when a mail last said so, and since when it failed then. */
  reminded_hours: number;
  reminded_since: Date | null;
};

/** Hours of failing after which the webhook's people are reminded. */
const reminderHours = [72, 24, 1] as const;
const hourMs = 3_600_000;
const lineMax = 500;

/** The hours of which a reminder is due; null when none is, or the webhook does not fail. */
export function dueReminder(
  { failing_since: since, reminded_hours: hours, reminded_since: remindedSince }: Reminded,
  { status }: Health,
  now: Date,
): number | null {
  if (since === null || (status !== "failing" && status !== "unreachable")) return null;
  const passed = reminderHours.find((each) => now.getTime() - since.getTime() >= each * hourMs);
  const last = remindedSince?.getTime() === since.getTime() ? hours : 0;
  return passed !== undefined && passed > last ? passed : null;
}

/** The line of a mail about a change of health. */
export const changeLine = (name: string, { status, reason }: Health, previous: HealthStatus): string =>
  cut(`Webhook "${name}" is ${status}, was ${previous}: ${reason}`);

/** The line of a reminder. */
export const reminderLine = (name: string, hours: number, { reason }: Health): string =>
  cut(`Webhook "${name}" has had no success for ${hours === 1 ? "1 hour" : `${hours} hours`}: ${reason}`);

const cut = (line: string): string => [...line].slice(0, lineMax).join("");
