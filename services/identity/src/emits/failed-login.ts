import type { Tx } from "@muster/db";
import type { Caller, RequestMeta } from "@muster/kit";
import type { PrincipalRow } from "../rules/principal.ts";
import { countFailedLogin } from "../store/failures.ts";
import { userEvent } from "./audit.ts";

/** Audits a failed sign-in of a known user, the first of each minute only: guessing must not flood the trail. */
export async function noteFailedLogin(
  tx: Tx,
  who: { caller: Caller; meta: RequestMeta },
  user: PrincipalRow,
  factor: "password" | "mfa",
  now: Date,
): Promise<void> {
  if (!(await countFailedLogin(tx, user.user_id, now))) return;
  const failed = { result: "failure" as const, message: factor === "mfa" ? "wrong code" : "wrong password" };
  tx.emit(userEvent(who, user, { action: "user.login.failed", details: { factor }, failed }, now));
}
