import type { Tx } from "@muster/db";
import { AppError, type CallContext, clientNetwork } from "@muster/kit";
import type { DeviceAuthorizationDeps } from "../deps.ts";
import { tooManyFailures } from "../rules/attempt-limit.ts";
import { readUserCode } from "../rules/user-code.ts";
import { type DeviceAuthorizationRow, lockByUserCode } from "../store/device-authorizations.ts";
import { addFailures, type Counted, limitedUntil, lockToCount } from "../store/failures.ts";

/**
 * Runs an action on the sign-in that waits under this user code, in the same transaction. Attempts from one address are
 * serialised, so that concurrent guesses all count. Throws `rate_limited` after too many wrong codes, and
 * `invalid_user_code` for one that is unknown, used or expired, all alike.
 */
export async function tryUserCode<T>(
  deps: DeviceAuthorizationDeps,
  context: CallContext,
  typed: string,
  action: (tx: Tx, row: DeviceAuthorizationRow) => Promise<T>,
): Promise<T> {
  const code = readUserCode(typed);
  const network = clientNetwork(context.meta.clientAddress);
  const counted: Counted[] = [{ key: `user-code/${network}`, limit: deps.deviceLimits.wrongCodes }];
  const now = deps.now();
  const outcome = await deps.db.tx({ ...context, caller: deps.system, actsFor: network }, async (tx) => {
    const failures = await lockToCount(tx, counted, now);
    const until = limitedUntil(failures, counted, now);
    if (until) return { until };
    const row = code === null ? null : await lockByUserCode(tx, deps.userCodeHashes(code), now);
    if (row) return { result: await action(tx, row) };
    await addFailures(tx, failures, counted, now);
    return { until: null };
  });
  if ("result" in outcome) return outcome.result as T;
  throw outcome.until ? tooManyFailures(outcome.until, now) : invalidUserCode();
}

const invalidUserCode = () => new AppError("invalid_user_code", "The code is wrong, or has expired");
