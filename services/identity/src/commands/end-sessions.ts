import type { Tx } from "@muster/db";
import type { Caller, RequestMeta } from "@muster/kit";
import { auditEvent } from "@muster/service";
import { sessionRevoked } from "../emits/auth.ts";
import { sessionEvents } from "../emits/platform.ts";
import { sessionName } from "../rules/device-name.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import { endApproved } from "../store/device-authorizations.ts";
import { holdUser } from "../store/principals.ts";
import { type EndReason, revokeSessions, type Which } from "../store/sessions.ts";

/**
 * Ends session families of a user in the given transaction, and clients' sign-ins that were approved in them and are
 * not complete. Each session emits its message to the gateways, its `session.logout` and, except for a sign-out,
 * its audit row `session.revoke`. Returns the ids of messages to wait for (appliedEverywhere).
 */
export async function endSessions(
  tx: Tx,
  who: { caller: Caller; meta: RequestMeta },
  user: PrincipalRow,
  which: Which,
  reason: EndReason,
  now: Date,
): Promise<string[]> {
  // A client that completes its sign-in meanwhile holds this lock: its session is found here, or never begins.
  if ("except" in which) await holdUser(tx, user.user_id);
  const ended = await revokeSessions(tx, user.user_id, which, reason, now);
  await endApproved(tx, user.user_id, which);
  return ended.map((session) => {
    const { id } = session;
    const message = sessionRevoked(id, user.user_id, now);
    tx.emit(message);
    for (const event of sessionEvents(who.meta, user, [{ type: "session.logout", sessionId: id, reason }], now)) {
      tx.emit(event);
    }
    if (reason !== "logout") tx.emit(revocation(who, user, { id, device: sessionName(session), reason }, now));
    return message.msgId;
  });
}

function revocation(
  who: { caller: Caller; meta: RequestMeta },
  user: PrincipalRow,
  session: { id: string; device: string; reason: EndReason },
  now: Date,
) {
  const isTheft = session.reason === "refresh_token_reuse";
  const fact = {
    action: "session.revoke",
    resource: { type: "session", id: session.id, name: session.device },
    orgId: user.org_id,
    partnerId: user.partner_id,
    details: { userId: user.user_id, userName: user.name, reason: session.reason },
    // A token was presented that had been exchanged long before; the request was refused.
    ...(isTheft ? { result: "denied" as const, errorMessage: "refresh token reuse" } : {}),
  };
  return auditEvent("identity", who, fact, now);
}
