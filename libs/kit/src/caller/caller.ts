import { uuidv7 } from "../formats/uuid.ts";
import { isReadOnly, type PortalSession } from "./portal.ts";

export type ActorType = "user" | "api_key" | "agent" | "portal" | "system";
export type Scope = "system" | "partner" | "organization";

export type Actor = {
  type: ActorType;
  /** UUID of the user, key, device or portal link; the service's name for `system`. */
  id: string;
  email: string | null;
  name: string | null;
  role: string | null;
  department: string | null;
};

/** Organizations in a partner caller's scope: all of the partner, or exactly those listed. */
export type OrgAccess = { mode: "all" } | { mode: "list"; orgIds: readonly string[] };

/** Who is calling, as the gateway established it. */
export type Caller = {
  actor: Actor;
  scope: Scope;
  partnerId: string | null;
  orgId: string | null;
  orgAccess: OrgAccess;
  /** Sites a restricted user is limited to; null when unrestricted. */
  siteIds: readonly string[] | null;
  permissions: readonly string[];
  /** When a second factor was last completed in this session. */
  mfaAt: Date | null;
  sessionId: string | null;
  keyId: string | null;
  /** Of a caller of type `portal`, and of no other. */
  portal?: PortalSession;
};

/** What is sent with the caller as plain metadata. */
export type RequestMeta = {
  requestId: string;
  clientAddress: string | null;
  userAgent: string | null;
  /** W3C trace context, when the request is traced. */
  traceparent: string | null;
  /** The client's Idempotency-Key: a repeat under it is answered as the first request was. */
  idempotencyKey?: string | null;
};

/** One call being served: who, from where, until when (milliseconds of the monotonic clock), and its abort signal. */
export type CallContext = {
  caller: Caller;
  meta: RequestMeta;
  deadlineMs: number | null;
  signal: AbortSignal;
};

/**
 * The scope that row-level policies read: `portal` or `portal_read` for a portal session, which only the policies of
 * webhook-dispatcher name, so that no other row is visible to it.
 */
export function databaseScope({ scope, portal }: Caller): string {
  if (portal === undefined) return scope;
  return isReadOnly(portal.capabilities) ? "portal_read" : "portal";
}

/** Metadata of a service's own work: an id of its own, and no client. */
export function ownMeta(requestId = uuidv7()): RequestMeta {
  return { requestId, clientAddress: null, userAgent: null, traceparent: null };
}

/** The caller of a service's own work (relay, consumers, jobs). */
export function systemCaller(service: string): Caller {
  return {
    actor: { type: "system", id: service, email: null, name: service, role: null, department: null },
    scope: "system",
    partnerId: null,
    orgId: null,
    orgAccess: { mode: "all" },
    siteIds: null,
    permissions: [],
    mfaAt: null,
    sessionId: null,
    keyId: null,
  };
}

export const zeroUuid = "00000000-0000-0000-0000-000000000000";
