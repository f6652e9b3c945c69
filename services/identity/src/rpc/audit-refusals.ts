import type { HandlerContext } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import {
  AppError,
  type CallContext,
  counter,
  type ErrorCode,
  isUuid,
  type Logger,
  systemCaller,
  zeroUuid,
} from "@muster/kit";
import { callContext } from "@muster/rpc";
import { auditEvent } from "@muster/service";
import { countRefusal } from "../store/refusals.ts";
import { knownTenants } from "../store/tenants.ts";

/** What a change is about, as far as the caller sees it. */
export type Owned = { id: string; name: string; org_id: string | null; partner_id: string | null };

/** A change whose refusal is audited: its action, and how the record is found that its `id` names. */
export type Refusable = { action: string; find?: (context: CallContext, id: string) => Promise<Owned | null> };

export type RefusalDeps = { db: Database; log: Logger; now: () => Date };

/**
 * Codes that refuse a known caller on records that they can see. Not found, invalid and conflict are not among them.
 */
export const refusedCodes: ReadonlySet<ErrorCode> = new Set([
  "permission_denied",
  "mfa_required",
  "scope_not_allowed",
  "site_restricted",
  "delegation_denied",
  "last_administrator",
  "user_session_required",
  "insufficient_scope",
]);

const unnoted = counter("identity_refusals_unnoted_total", "Refused changes whose audit row could not be written.");

// biome-ignore lint/suspicious/noExplicitAny: each handler keeps its own types
type Handlers = Record<string, (request: any, handler: HandlerContext) => any>;

/**
 * Wraps handlers so that a refused change is audited with its action and result `denied`, once per actor, action and
 * minute (docs/behaviour.md#audit-events). The caller receives the refusal, whether or not the row could be written.
 */
export function auditRefusals<S extends object>(
  deps: RefusalDeps,
  handlers: S,
  changes: { readonly [M in keyof S]?: Refusable },
): S {
  const wrapped = Object.entries(changes as Record<string, Refusable>).map(([name, change]) => {
    const handle = (handlers as Handlers)[name];
    if (!handle) throw new Error(`there is no handler ${name}`);
    const noting: Handlers[string] = async (request, handler) => {
      try {
        return await handle(request, handler);
      } catch (error) {
        if (error instanceof AppError && refusedCodes.has(error.code)) {
          await noteRefusal(deps, callContext(handler), change, request, error).catch((err: unknown) => {
            unnoted.inc();
            deps.log.error({ err, action: change.action }, "refused change not audited");
          });
        }
        throw error;
      }
    };
    return [name, noting] as const;
  });
  return { ...handlers, ...Object.fromEntries(wrapped) } as S;
}

/** Actions without meaning outside an organization (services/audit, organization-actions.ts). */
const ofOrganizations = /^(api_key|enrollment_key|service_principal)\./;

export type Named = { id?: string; orgId?: string };

/** Audits a refused change in the chain of what it was about, else in the caller's own. */
export async function noteRefusal(
  { db, now }: RefusalDeps,
  context: CallContext,
  { action, find }: Refusable,
  { id = "", orgId = "" }: Named,
  error: AppError,
): Promise<void> {
  const { caller } = context;
  const found = find && isUuid(id) ? await find(context, id) : null;
  const place = found ??
    (await namedPlace(db, context, orgId)) ?? { org_id: caller.orgId, partner_id: caller.partnerId };
  if (place.org_id === null && ofOrganizations.test(action)) return;
  const at = now();
  const { details: _details, ...facts } = error.facts;
  const event = auditEvent(
    "identity",
    context,
    {
      action,
      resource: { type: action.split(".")[0] ?? "", id: found?.id || zeroUuid, name: found?.name ?? null },
      orgId: place.org_id,
      partnerId: place.partner_id,
      details: { code: error.code, ...facts },
      result: "denied",
      errorMessage: error.message,
    },
    at,
  );
  await db.tx({ ...context, caller: systemCaller("identity") }, async (tx) => {
    if (await countRefusal(tx, caller.actor.id, action, at)) tx.emit(event);
  });
}

/** The organization that a new record was for, when the caller reaches it. */
async function namedPlace(db: Database, context: CallContext, orgId: string) {
  const { caller } = context;
  if (!isUuid(orgId) || caller.scope === "organization") return null;
  if (caller.scope === "partner" && caller.orgAccess.mode === "list" && !caller.orgAccess.orgIds.includes(orgId)) {
    return null;
  }
  const { orgs } = await knownTenants(db, context, { partnerId: null, orgIds: [orgId], siteIds: [] });
  const org = orgs.get(orgId);
  return org ? { id: "", name: "", org_id: orgId, partner_id: org.partnerId } : null;
}
