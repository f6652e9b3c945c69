import type { Database } from "@muster/db";
import { AppError, clientNetwork, systemCaller } from "@muster/kit";
import type { AttemptLimit } from "./rules/attempt-limit.ts";
import { addFailures, type Counted, clearFailures, limitedUntil, lockFailures, lockToCount } from "./store/failures.ts";

export type LoginLimits = { perAccount: AttemptLimit; perAddress: AttemptLimit };

/** What a sign-in counts towards: this account from this address, and this address. */
export type LoginAttempt = { account: Counted; address: Counted };

/** By the text of the e-mail, so that accounts that exist and those that do not are limited alike. */
export function loginAttempt(limits: LoginLimits, clientAddress: string | null, email: string): LoginAttempt {
  const network = clientNetwork(clientAddress);
  return {
    account: { key: `login/${network}/${email}`, limit: limits.perAccount },
    address: { key: `login/${network}`, limit: limits.perAddress },
  };
}

/**
 * Takes a judged sign-in into the count: until when it is refused, whatever its outcome, or null. Only failures count, a
 * success clears those of the account. Attempts go one after the other here, whatever replica they come to: of any number
 * that come together as many are answered as the limit allows.
 */
export async function countLogin(
  db: Database,
  { account, address }: LoginAttempt,
  outcome: "failed" | "succeeded",
  now: Date,
): Promise<Date | null> {
  const both = [account, address];
  return db.tx(
    { caller: systemCaller("identity") },
    async (tx) => {
      const failed = outcome === "failed";
      const failures = failed ? await lockToCount(tx, both, now) : await lockFailures(tx, both);
      const until = limitedUntil(failures, both, now);
      if (until) return until;
      if (failed) await addFailures(tx, failures, both, now);
      else if (failures.has(account.key)) await clearFailures(tx, [account]);
      return null;
    },
    { retry: true },
  );
}

/** 429 with the seconds after which a repeat makes sense. */
export function tooManyFailures(until: Date, now: Date): AppError {
  return new AppError("rate_limited", "Too many failed attempts", {
    retryAfterSeconds: Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000)),
  });
}
