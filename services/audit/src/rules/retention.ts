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

/** A policy in force at `now`: a change whose waiting time is over has replaced the earlier value. */
export function inForce(policy: RetentionPolicy, now: Date): RetentionPolicy {
  const { pending } = policy;
  if (!pending || pending.from > now) return policy;
  return { ...policy, retentionDays: pending.retentionDays, pending: null };
}

/**
 * The policy after a change. A longer retention takes effect at once and cancels a pending shorter one; a shorter one
 * takes effect after 24 hours, which a repeat of the same request does not restart. Throws `no_updates` and
 * `validation_failed`.
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
