import { type Caller, databaseScope, isUuid } from "@muster/kit";
import type { Query } from "./statement.ts";

/**
 * Whose transaction it is, until when it is worth running (milliseconds of `performance.now()`), and the trace that its
 * messages belong to when no span is active. A CallContext is one.
 */
export type Who = {
  caller: Caller | null;
  deadlineMs?: number | null;
  meta?: { traceparent: string | null };
  /** Whose turn at the connections a service takes that acts for a tenant under its own name. */
  actsFor?: string | null;
};

export const defaultTimeoutMs = 10_000;
const idleInTransactionMs = "30000";

const text = `select ${[
  "app.scope",
  "app.partner_id",
  "app.org_id",
  "app.org_access",
  "app.org_ids",
  "app.site_ids",
  "app.actor_id",
  "statement_timeout",
  "idle_in_transaction_session_timeout",
]
  .map((name, index) => `set_config('${name}', $${index + 1}, true)`)
  .join(", ")}`;
const readOnlyText = `${text}, set_config('transaction_read_only', 'on', true)`;

/**
 * The select that sets a transaction's tenant and time limit. Every setting is written every time, empty when absent,
 * and only for this transaction, which is `readOnly` when wanted. Throws TypeError when an id that becomes part of an
 * array is no UUID.
 */
export function settingsQuery(who: Who, timeoutMs: number, readOnly = false): Query {
  const limits = [String(Math.max(1, Math.ceil(timeoutMs))), idleInTransactionMs];
  const { caller } = who;
  const wanted = readOnly ? readOnlyText : text;
  if (!caller) return { text: wanted, values: ["", "", "", "", "", "", "", ...limits] };
  const { orgAccess } = caller;
  return {
    text: wanted,
    values: [
      databaseScope(caller),
      uuidOrEmpty(caller.partnerId),
      uuidOrEmpty(caller.orgId),
      orgAccess.mode,
      orgAccess.mode === "list" ? uuidArray(orgAccess.orgIds) : "",
      caller.siteIds === null ? "" : uuidArray(caller.siteIds),
      caller.actor.id,
      ...limits,
    ],
  };
}

/** Whose turn at the connections it takes: the organization's, the partner's, the user's; null for our own work. */
export function connectionOwner({ caller, actsFor }: Who): string | null {
  if (actsFor) return actsFor;
  if (caller === null || caller.actor.type === "system") return null;
  return caller.orgId ?? caller.partnerId ?? caller.actor.id;
}

/** Milliseconds until the deadline, the default without one; zero or less when it has passed. */
export function remainingMs(who: Who, nowMs: number = performance.now()): number {
  return who.deadlineMs == null ? defaultTimeoutMs : who.deadlineMs - nowMs;
}

function uuidOrEmpty(id: string | null): string {
  if (id === null) return "";
  if (!isUuid(id)) throw new TypeError("an id of the caller is not a UUID");
  return id;
}

function uuidArray(ids: readonly string[]): string {
  if (!ids.every(isUuid)) throw new TypeError("an id in a list of the caller is not a UUID");
  return `{${ids.join(",")}}`;
}
