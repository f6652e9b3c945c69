import type { OutboxMessage } from "@muster/db";
import type { RequestMeta } from "@muster/kit";
import { platformEvent } from "@muster/service";
import type { EndReason } from "../store/sessions.ts";

type User = { user_id: string; email: string; name: string; org_id: string | null; partner_id: string | null };

export type SessionFact =
  | { type: "user.login"; sessionId: string; mfa: boolean }
  | { type: "user.logout"; sessionId: string }
  | { type: "session.login"; sessionId: string; mfa: boolean; expiresAt: Date }
  | { type: "session.logout"; sessionId: string; reason: EndReason };

/**
 * Events for the webhooks of the user's organization (shapes: README); none for users of partners and of the platform.
 */
export function sessionEvents(
  meta: RequestMeta,
  user: User,
  facts: readonly SessionFact[],
  now: Date,
): OutboxMessage[] {
  const { org_id: orgId, partner_id: partnerId } = user;
  if (orgId === null || partnerId === null) return [];
  const who = { userId: user.user_id, email: user.email, name: user.name };
  const from = { ipAddress: meta.clientAddress, userAgent: meta.userAgent };
  const dataOf = (fact: SessionFact): Record<string, unknown> => {
    const { sessionId } = fact;
    switch (fact.type) {
      case "user.login":
        return { ...who, sessionId, mfa: fact.mfa, ...from };
      case "user.logout":
        return { ...who, sessionId, ...from };
      case "session.login":
        return { sessionId, userId: who.userId, mfa: fact.mfa, expiresAt: fact.expiresAt.toISOString(), ...from };
      case "session.logout":
        return { sessionId, userId: who.userId, reason: fact.reason };
      default:
        return fact satisfies never;
    }
  };
  return facts.map((fact) =>
    platformEvent("identity", { type: fact.type, orgId, partnerId, data: dataOf(fact) }, meta.traceparent, now),
  );
}
