import { AppError, type ErrorCode } from "@muster/kit";
import { callOptions } from "@muster/rpc";
import { z } from "zod";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import { metaOf } from "./upstream.ts";

/**
 * Codes that refuse an authenticated caller what they may not do. Not found, invalid and conflict are not among them,
 * nor is what another tenant's record answers: the row would say that it exists.
 */
export const refusedCodes: ReadonlySet<ErrorCode> = new Set([
  "permission_denied",
  "mfa_required",
  "scope_not_allowed",
  "site_restricted",
  "delegation_denied",
  "last_administrator",
  "user_session_required",
  "agent_token_required",
  "insufficient_scope",
]);

const timeoutMs = 5_000;
/** Beyond it, in characters of JSON, the row has the code alone. */
const factsMax = 8_192;
const named = z.object({ orgId: z.uuid() });

/** Has a refused change audited as its route says (docs/behaviour.md#audit-events); the reply does not wait for it. */
export function noteRefusedChange(options: ExchangeOptions, exchange: Exchange, error: unknown): void {
  const { served, session, rawParams } = exchange;
  const { audit: action, auditResource: resourceType = "" } = served.row;
  // Identity audits what it refuses to a directory; a portal session finds only what is its own.
  if (action === undefined || session === null || session.kind === "directory" || session.kind === "portal") return;
  if (!(error instanceof AppError) || !refusedCodes.has(error.code)) return;
  const { details: _, ...facts } = error.facts;
  const factsJson = JSON.stringify(facts);
  const meta = { ...metaOf(options, exchange), idempotencyKey: null };
  options.noteRefusal({
    credential: session,
    refusal: {
      action,
      resourceType,
      id: rawParams.id ?? "",
      orgId: namedOrganization(exchange),
      code: error.code,
      message: error.message,
      factsJson: factsJson.length > factsMax ? "" : factsJson,
    },
    rpc: async () => callOptions({ caller: session.caller, meta, deadlineMs: performance.now() + timeoutMs }),
  });
}

/** In the query or the body, as far as the request was read. */
function namedOrganization({ queryValues, body }: Exchange): string {
  for (const values of [body, queryValues]) {
    const parsed = named.safeParse(values);
    if (parsed.success) return parsed.data.orgId;
  }
  return "";
}
