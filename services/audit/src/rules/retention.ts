import { AppError, validationError } from "@muster/kit";

export const defaultRetentionDays = 365;
export const leastDays = 1;
export const mostDays = 3_650;
const shorteningWaitsMs = 24 * 3_600_000;

export type RetentionPolicy = {
  retentionDays: number;
  archiveToS3: boolean;
  /** A shorter retention that is not in force yet, and from when it is. */
  pending: { retentionDays: number; from: Date } | null;
};

export type RetentionChange = { retentionDays: number | null; archiveToS3: boolean | null };

export const defaultPolicy: RetentionPolicy = {
  retentionDays: defaultRetentionDays,
  archiveToS3: false,
  pending: null,
};

/** A policy as it is in force at `now`: what waited long enough has taken the place of what was. */
export function inForce(policy: RetentionPolicy, now: Date): RetentionPolicy {
  const { pending } = policy;
  if (!pending || pending.from > now) return policy;
  return { ...policy, retentionDays: pending.retentionDays, pending: null };
}

/**
 * The policy after a change. A longer retention holds at once and takes back a shorter one that waits; a shorter one waits for
 * 24 hours, and the same one asked for again does not wait anew. Throws `no_updates` and `validation_failed`.
 */
export function changedPolicy(before: RetentionPolicy, change: RetentionChange, now: Date): RetentionPolicy {
  const { retentionDays, archiveToS3 } = change;
  if (retentionDays === null && archiveToS3 === null) throw new AppError("no_updates", "No updates provided");
  if (
    retentionDays !== null &&
    !(Number.isInteger(retentionDays) && retentionDays >= leastDays && retentionDays <= mostDays)
  ) {
    throw validationError({ retentionDays: [`Must be a whole number from ${leastDays} to ${mostDays}`] });
  }
  const current = inForce(before, now);
  const policy = { ...current, archiveToS3: archiveToS3 ?? current.archiveToS3 };
  if (retentionDays === null) return policy;
  if (retentionDays >= current.retentionDays) return { ...policy, retentionDays, pending: null };
  if (current.pending?.retentionDays === retentionDays) return policy;
  return { ...policy, pending: { retentionDays, from: new Date(now.getTime() + shorteningWaitsMs) } };
}
