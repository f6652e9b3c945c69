import type { OutboxMessage } from "@muster/db";
import type { Caller, RequestMeta } from "@muster/kit";
import { auditEvent } from "@muster/service";

type User = { user_id: string; name: string; org_id: string | null; partner_id: string | null };

export type UserFact = {
  action: string;
  details?: Record<string, unknown>;
  /** Why it did not happen. */
  failed?: { result: "failure" | "denied"; message: string };
};

/** The audit row of something that happened to a user's account, in that user's chain. */
export function userEvent(
  who: { caller: Caller; meta: RequestMeta },
  user: User,
  { action, details, failed }: UserFact,
  now: Date,
): OutboxMessage {
  const fact = {
    action,
    resource: { type: "user", id: user.user_id, name: user.name },
    orgId: user.org_id,
    partnerId: user.partner_id,
    ...(details ? { details } : {}),
    ...(failed ? { result: failed.result, errorMessage: failed.message } : {}),
  };
  return auditEvent("identity", who, fact, now);
}
