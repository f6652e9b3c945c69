import type { Tx } from "@muster/db";
import type { Caller, RequestMeta } from "@muster/kit";
import type { PrincipalRow } from "../rules/principal.ts";
import { countFailedLogin } from "../store/failures.ts";
import { personEvent } from "./audit.ts";

/** Audits a failed sign-in of a known person, the first of each minute only: guessing must not flood the trail. */
export async function noteFailedLogin(
  tx: Tx,
  who: { caller: Caller; meta: RequestMeta },
  person: PrincipalRow,
  factor: "password" | "mfa",
  now: Date,
): Promise<void> {
  if (!(await countFailedLogin(tx, person.user_id, now))) return;
  const failed = { result: "failure" as const, message: factor === "mfa" ? "wrong code" : "wrong password" };
  tx.emit(personEvent(who, person, { action: "user.login.failed", details: { factor }, failed }, now));
}
