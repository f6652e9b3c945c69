import type { FieldErrors } from "@muster/kit";

/** When a webhook's deliveries are sent again: seconds from the end of each failed attempt to the next one. */
export type OwnSchedule = { delaysSeconds: readonly number[]; jitterPercent: number };
/** `standard`: 1, 2, 4, 8, 16 s (rules/schedule.ts). */
export type RetrySchedule = "standard" | "extended" | OwnSchedule;

/** As a message carries it: a name, or delays. */
export type RetryScheduleInput = { name: string; delaysSeconds: readonly number[]; jitterPercent: number };

const hour = 3_600;
const extended: OwnSchedule = {
  delaysSeconds: [5, 300, 1_800, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour],
  jitterPercent: 0,
};
export const daySeconds = 86_400;
const maxDelays = 16;
const maxJitterPercent = 20;
/** An ordered webhook's later events wait for the last retry. */
const orderedSeconds = 600;

/** The delays of a schedule; null for the standard one. */
export function delaysOf(schedule: RetrySchedule): OwnSchedule | null {
  if (schedule === "standard") return null;
  return schedule === "extended" ? extended : schedule;
}

/** Reads a schedule as it was sent; nothing stands for the standard one. */
export function retryScheduleOf(input: RetryScheduleInput | undefined, errors: FieldErrors): RetrySchedule {
  if (!input) return "standard";
  const { name, delaysSeconds, jitterPercent } = input;
  if (name === "standard" || name === "extended") return name;
  const isWithin = (value: number, least: number, most: number) =>
    Number.isInteger(value) && value >= least && value <= most;
  const isValid =
    name === "" &&
    isWithin(delaysSeconds.length, 1, maxDelays) &&
    delaysSeconds.every((delay) => isWithin(delay, 1, daySeconds)) &&
    isWithin(jitterPercent, 0, maxJitterPercent);
  if (!isValid) errors.retrySchedule = [retryScheduleText];
  return { delaysSeconds: [...delaysSeconds], jitterPercent };
}

const retryScheduleText = `standard, extended, or 1 to ${maxDelays} delaysSeconds of 1 to 86,400 with a jitterPercent of 0 to ${maxJitterPercent}`;

/**
 * Why a webhook cannot have a schedule: a payload must outlive its last retry, and a failing delivery must not hold
 * back later events of an ordered webhook for long. Null when it can.
 */
export function retryScheduleError(schedule: RetrySchedule, ordered: boolean, retentionDays: number): string | null {
  const own = delaysOf(schedule);
  if (own === null) return null;
  const seconds = totalSeconds(own);
  if (ordered && seconds >= orderedSeconds)
    return "The delays of an ordered webhook must add up to less than 10 minutes";
  if (seconds < retentionDays * daySeconds) return null;
  return `The delays must add up to less than ${retentionDays} ${retentionDays === 1 ? "day" : "days"}, for which payloads are kept`;
}

/** All delays together, with the most jitter. */
export function totalSeconds({ delaysSeconds, jitterPercent }: OwnSchedule): number {
  return delaysSeconds.reduce((sum, delay) => sum + delay, 0) * (1 + jitterPercent / 100);
}
