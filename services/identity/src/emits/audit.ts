import type { OutboxMessage } from "@muster/db";
import type { Caller, RequestMeta } from "@muster/kit";
import { auditEvent } from "@muster/service";

type Person = { user_id: string; name: string; org_id: string | null; partner_id: string | null };

export type PersonFact = {
  action: string;
  details?: Record<string, unknown>;
  /** Why it did not happen. */
  failed?: { result: "failure" | "denied"; message: string };
};

/** The audit row of something that happened to a person's account, in that person's chain. */
export function personEvent(
  who: { caller: Caller; meta: RequestMeta },
  person: Person,
  { action, details, failed }: PersonFact,
  now: Date,
): OutboxMessage {
  const fact = {
    action,
    resource: { type: "user", id: person.user_id, name: person.name },
    orgId: person.org_id,
    partnerId: person.partner_id,
    ...(details ? { details } : {}),
    ...(failed ? { result: failed.result, errorMessage: failed.message } : {}),
  };
  return auditEvent("identity", who, fact, now);
}
