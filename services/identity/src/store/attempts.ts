import type { Database } from "@muster/db";
import { clientNetwork, systemCaller } from "@muster/kit";
import type { LoginLimits } from "../rules/attempt-limit.ts";
import { addFailures, type Counted, clearFailures, limitedUntil, lockFailures, lockToCount } from "./failures.ts";

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
 * Counts the outcome of a sign-in: returns until when it is refused, whatever the outcome, or null. Only failures
 * count, and a success clears those of the account. Attempts are serialised across all replicas: of any number of
 * concurrent ones exactly as many are answered as the limit allows.
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
