import type { Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { DeviceAuthorizationDeps } from "../deps.ts";
import { type PollVerdict, pollVerdict, refusedPoll } from "../rules/device-authorization.ts";
import { tokenHash } from "../rules/opaque-token.ts";
import { hasLeft } from "../rules/password-sign-in.ts";
import {
  type DeviceAuthorizationRow,
  deleteDeviceAuthorization,
  findApproval,
  lockByDeviceCode,
  recordPoll,
} from "../store/device-authorizations.ts";
import { holdUser, readPrincipal } from "../store/principals.ts";
import { type LockedSession, lockSession } from "../store/sessions.ts";
import { refusedToken } from "../store/unknown-keys.ts";
import { type NewFamily, newFamily, type SignedIn } from "./session-families.ts";

type Outcome = { family: NewFamily } | { refused: Exclude<PollVerdict, "complete">; intervalSeconds?: number };

/**
 * The session of a client whose sign-in a user approved; it begins here, and the user and the approving session are
 * checked again. Throws `authorization_pending`, `slow_down`, `expired_token`, `access_denied`, and `rate_limited`
 * after too many unknown codes.
 */
export async function completeDeviceAuthorization(
  deps: DeviceAuthorizationDeps,
  context: CallContext,
  deviceCode: string,
): Promise<SignedIn> {
  const hash = tokenHash(deviceCode);
  // Decided inside, thrown outside: a refused request counts.
  const outcome = await deps.db.tx({ ...context, caller: deps.system }, async (tx): Promise<Outcome | null> => {
    const session = await approvingSession(tx, hash);
    const row = await lockByDeviceCode(tx, hash);
    if (!row) return null;
    const now = deps.now();
    const { verdict, intervalSeconds } = pollVerdict(waiting(row), now);
    if (verdict === "authorization_pending" || verdict === "slow_down") {
      await recordPoll(tx, row.id, intervalSeconds, now);
    }
    if (verdict !== "complete") return { refused: verdict, intervalSeconds };
    // Approved between the two reads: the next request finds both locks in their order.
    if (session === undefined) return { refused: "authorization_pending" };
    await deleteDeviceAuthorization(tx, row.id);
    const family = session && (await approvedFamily(deps, context, tx, row, session));
    if (!family) return { refused: "access_denied" };
    await family.store(tx);
    return { family };
  });
  if (!outcome) throw await refusedToken(deps, context, refusedPoll("expired_token"));
  if ("refused" in outcome) throw refusedPoll(outcome.refused, outcome.intervalSeconds);
  return outcome.family.signedIn();
}

/** The approving session, locked after its active user; null when either has ended, undefined without approval. */
async function approvingSession(tx: Tx, hash: Buffer): Promise<LockedSession | null | undefined> {
  const approval = await findApproval(tx, hash);
  if (!approval) return undefined;
  if (!(await holdUser(tx, approval.user_id))) return null;
  return lockSession(tx, approval.session_id);
}

/** The session that was approved; null when the user, or the session that approved it, has ended meanwhile. */
async function approvedFamily(
  deps: DeviceAuthorizationDeps,
  context: CallContext,
  tx: Tx,
  row: DeviceAuthorizationRow,
  session: LockedSession,
): Promise<NewFamily | null> {
  const now = deps.now();
  if (session.revoked_at || session.idle_expires_at <= now || session.expires_at <= now) return null;
  const principal = await readPrincipal(tx, session.user_id);
  if (principal?.status !== "active" || hasLeft(principal)) return null;
  if (session.began_by === "password" && principal.sso_enforced) return null;
  return newFamily(deps, context, principal, {
    mfaAt: row.mfa_at,
    ssoProviderId: session.sso_provider_id,
    clientName: row.client_name,
  });
}

const waiting = (row: DeviceAuthorizationRow) => ({
  status: row.status,
  intervalSeconds: row.interval_seconds,
  polledAt: row.polled_at,
  expiresAt: row.expires_at,
});
