import type { Tx } from "@muster/db";
import type { AppError, CallContext } from "@muster/kit";
import type { SessionDeps } from "../deps.ts";
import { noteFailedLogin } from "../emits/failed-login.ts";
import { tooManyFailures } from "../rules/attempt-limit.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import { recoveryCodeHash } from "../rules/recovery-codes.ts";
import { matchingStep } from "../rules/totp.ts";
import {
  addChallengeFailure,
  challengeLimitedUntil,
  findTotp,
  lockUserFactors,
  useRecoveryCode,
  useStep,
} from "../store/factors.ts";
import {
  addFailures,
  type Counted,
  clearFailures,
  limitedUntil,
  lockFailures,
  lockToCount,
} from "../store/failures.ts";
import { totpLocation } from "../store/sealed-columns.ts";

type SecondFactorDeps = Pick<SessionDeps, "db" | "totpBox" | "now">;

/** Failures allowed per user, and per challenge (docs/behaviour.md#rate-limits). */
const limit = { max: 5, windowMs: 5 * 60_000 };

/**
 * Runs one attempt of a user to prove their identity; `action` returns null for a wrong proof. Attempts of one user are
 * serialised across all replicas, so that concurrent guesses all count. Throws `rate_limited` before the action after 5
 * failures in 5 minutes (of the user, or of the challenge), else `refusal` when it returned null.
 */
export async function tryFactor<T>(
  { db, now }: Pick<SecondFactorDeps, "db" | "now">,
  context: CallContext,
  user: PrincipalRow,
  about: { refusal: AppError; challengeId?: string },
  action: (tx: Tx) => Promise<T | null>,
): Promise<T> {
  const { refusal, challengeId = null } = about;
  const userId = user.user_id;
  const counted: Counted[] = [{ key: `mfa/${userId}`, limit, userId }];
  // Decided inside, thrown outside: a failure that rolls back would not be counted.
  const outcome = await db.tx(context, async (tx) => {
    await lockUserFactors(tx, userId);
    const at = now();
    const failures = await lockFailures(tx, counted);
    const until =
      limitedUntil(failures, counted, at) ??
      (challengeId === null ? null : await challengeLimitedUntil(tx, challengeId, limit.max));
    if (until) return { refusal: tooManyFailures(until, at) };
    const result = await action(tx);
    if (result !== null) {
      if (failures.size > 0) await clearFailures(tx, counted);
      return { result };
    }
    await addFailures(tx, await lockToCount(tx, counted, at), counted, at);
    if (challengeId !== null) await addChallengeFailure(tx, challengeId);
    await noteFailedLogin(tx, context, user, refusal.code === "invalid_credentials" ? "password" : "mfa", at);
    return { refusal };
  });
  if ("result" in outcome) return outcome.result as T;
  throw outcome.refusal;
}

/**
 * Uses up a TOTP code or a recovery code of the user, under lockUserFactors; false when it is none, or was used before.
 */
export async function useCode(tx: Tx, deps: SecondFactorDeps, userId: string, code: string): Promise<boolean> {
  const digits = code.replace(/\s/g, "");
  if (!/^\d{6}$/.test(digits)) return useRecoveryCode(tx, userId, recoveryCodeHash(code), deps.now());
  const totp = await findTotp(tx, userId);
  return totp?.confirmed_at ? useTotp(tx, deps, userId, totp.secret, digits) : false;
}

/** Uses up the step of a TOTP code under this sealed secret; false when it fits none, or was used before. */
export async function useTotp(
  tx: Tx,
  { totpBox, now }: SecondFactorDeps,
  userId: string,
  sealed: Buffer,
  digits: string,
): Promise<boolean> {
  const step = matchingStep(totpBox.open(sealed, totpLocation(userId)), digits.replace(/\s/g, ""), now());
  return step !== null && useStep(tx, userId, step);
}
