import type { IncomingMessage } from "node:http";
import { AppError, scopesOpen } from "@muster/kit";
import { unavailable } from "../errors.ts";
import type { ClientAddressRule } from "../request/client-address.ts";
import type { Inbound } from "../request/headers.ts";
import type { Agent, Credential, DirectoryClient, KeyHolder, PortalHolder } from "../route/credential.ts";
import { type Access, permissionFor } from "../route/route.ts";
import type { AccessTokens } from "./access-token.ts";
import type { AgentCache } from "./agent-cache.ts";
import { agentDigestOf, isAgentToken } from "./agent-token.ts";
import { keyDigestOf } from "./api-key.ts";
import type { KeyCache } from "./key-cache.ts";
import { isPortalToken, type PortalCache } from "./portal-cache.ts";
import { lacksSecondFactor } from "./principal.ts";
import type { SessionCache } from "./session-cache.ts";

export type Authenticate = (
  inbound: Inbound,
  request: Pick<IncomingMessage, "socket">,
) => Credential | Promise<Credential>;

/**
 * From the headers to the signed-in user, the API key, the agent or the portal session; synchronous while they are
 * cached. When a request has a key and a token, the key decides, also when it is invalid. Throws AppError (401; 403
 * `address_not_allowed`).
 */
export function createAuthenticate(options: {
  tokens: AccessTokens;
  sessions: SessionCache;
  keys: KeyCache;
  agents: AgentCache;
  portals: Pick<PortalCache, "get">;
  clientAddress: ClientAddressRule;
}): Authenticate {
  const { tokens, sessions, keys, agents, portals, clientAddress } = options;

  const checkAddress = (key: KeyHolder, inbound: Inbound, request: Pick<IncomingMessage, "socket">): KeyHolder => {
    if (key.admits === null) return key;
    const address = clientAddress(request.socket.remoteAddress, inbound);
    if (address !== null && key.admits(address)) return key;
    throw new AppError("address_not_allowed", "API key may not be used from this address");
  };

  return (inbound, request) => {
    if (inbound.apiKey !== null) {
      const key = keys.get(keyDigestOf(inbound.apiKey), () => clientAddress(request.socket.remoteAddress, inbound));
      return key instanceof Promise
        ? key.then((resolved) => checkAddress(resolved, inbound, request))
        : checkAddress(key, inbound, request);
    }
    const token = bearerToken(inbound.authorization);
    if (token === null) throw new AppError("unauthenticated", "Authentication is required");
    if (isAgentToken(token)) {
      return agents.get(agentDigestOf(token), () => clientAddress(request.socket.remoteAddress, inbound));
    }
    if (isPortalToken(token)) return portals.get(token, () => clientAddress(request.socket.remoteAddress, inbound));
    const verified = tokens.verify(token);
    return verified instanceof Promise ? verified.then((token) => sessions.get(token)) : sessions.get(verified);
  };
}

/** The token of `Authorization: Bearer <token>` (RFC 6750 section 2.1), else null. */
export function bearerToken(authorization: string | null): string | null {
  if (authorization === null || authorization.length < 8 || authorization.charCodeAt(6) !== 0x20) return null;
  if (authorization.slice(0, 6).toLowerCase() !== "bearer") return null;
  const token = authorization.slice(7).trim();
  return token === "" ? null : token;
}

export type AccessRules = { mfaMaxAgeMs: number; mfaEnrollUrl: string };

/** Statuses of organizations whose users and keys are refused; `trial` and `active` are not among them. */
const closedOrganizations = ["suspended", "churned", "deleted"];
/** A suspended tenant's devices may still report (docs/behaviour.md#states-of-tenants). */
const closedToAgents = ["churned", "deleted"];

/**
 * Whether the caller's partner and organization are open (docs/behaviour.md#errors). System callers are admitted, and
 * agents until the tenant is churned. Throws AppError `partner_inactive` or `organization_inactive` with the `status`,
 * `unavailable` while identity does not know it.
 */
export function checkTenant(credential: Exclude<Credential, DirectoryClient>): void {
  const { caller } = credential;
  if (caller.scope === "system") return;
  const { partnerStatus, orgStatus } = credential.kind === "session" ? credential.principal : credential.record;
  const isAgent = credential.kind === "agent";
  if (partnerStatus === "unknown" || orgStatus === "unknown") {
    throw unavailable();
  }
  if (isAgent ? closedToAgents.includes(partnerStatus) : partnerStatus !== "" && partnerStatus !== "active") {
    throw new AppError("partner_inactive", "Partner is not active", { facts: { status: partnerStatus } });
  }
  const closed = isAgent ? closedToAgents : closedOrganizations;
  if (caller.scope === "organization" && closed.includes(orgStatus)) {
    throw new AppError("organization_inactive", "Organization is not active", { facts: { status: orgStatus } });
  }
}

/**
 * Whether a caller may call a row, in the order of docs/behaviour.md#errors: open tenant, permission or a key's scope,
 * MFA, scope, account. Throws AppError as checkTenant does, `permission_denied`, `user_session_required`,
 * `insufficient_scope`, `agent_token_required`, `agent_quarantined`, `mfa_required`, `scope_not_allowed` or
 * `misconfigured_account`.
 */
export function checkAccess(access: Access, credential: Credential, rules: AccessRules, now: () => number): void {
  if (access.auth === "none") return;
  if (credential.kind === "portal") {
    checkPortal(access, credential);
    return;
  }
  if (access.auth === "directory") return;
  // Its tokens are read on its own routes alone.
  if (credential.kind === "directory") throw new AppError("unauthenticated", "Authentication is required");
  if (access.auth === "agent") {
    if (credential.kind !== "agent") throw new AppError("agent_token_required", "An agent token is required");
    checkTenant(credential);
    checkTrust(access, credential);
    return;
  }
  if (credential.kind === "agent") throw new AppError("user_session_required", "A user session is required");
  if (credential.kind === "key") checkKey(access, credential);
  if (access.auth === "optional") return;
  if (!access.whileInactive) checkTenant(credential);
  if (access.auth === "any") return;
  const { caller } = credential;
  if (credential.kind === "session") {
    const required = permissionFor(access, caller.scope);
    if (required !== undefined && !caller.permissions.includes(required)) {
      throw new AppError("permission_denied", "Permission denied", { facts: { required } });
    }
    const isExpired = caller.mfaAt === null || now() - caller.mfaAt.getTime() > rules.mfaMaxAgeMs;
    if ((access.mfa && isExpired) || (lacksSecondFactor(credential.principal) && !access.beforeSecondFactor)) {
      throw new AppError("mfa_required", "A completed MFA challenge is required", {
        facts: { enrollUrl: rules.mfaEnrollUrl },
      });
    }
  }
  if (access.scopes !== undefined && !access.scopes.includes(caller.scope)) {
    throw new AppError("scope_not_allowed", "This operation is not available to your scope", {
      facts: { allowed: access.scopes },
    });
  }
  const restricted = access.permission !== undefined || access.scopes !== undefined;
  if (restricted && caller.scope === "organization" && caller.orgId === null) {
    throw new AppError("misconfigured_account", "Misconfigured account");
  }
}

/** A portal session has the routes of its capabilities; every other answers as one that does not exist. */
function checkPortal(access: Access, portal: PortalHolder): void {
  const needed = access.auth === "session" ? access.portal : undefined;
  const held: readonly string[] = portal.caller.portal?.capabilities ?? [];
  if (needed === undefined || (needed !== "view" && !held.includes(needed)))
    throw new AppError("not_found", "Not found");
  checkTenant(portal);
}

/**
 * A device whose hardware id duplicates another device's may send heartbeats only, until an administrator has approved
 * it.
 */
function checkTrust({ whileQuarantined }: Extract<Access, { auth: "agent" }>, { record }: Agent): void {
  if (whileQuarantined || !record.quarantined) return;
  throw new AppError("agent_quarantined", "Device is quarantined until it is approved");
}

/**
 * Checks that `:id` of an agent's route is the caller's own id. Throws AppError `agent_not_found`, as for an id that
 * does not exist.
 */
export function checkOwnId({ id }: Agent, params: { id?: unknown }): void {
  if (params.id !== undefined && String(params.id).toLowerCase() !== id) {
    throw new AppError("agent_not_found", "Agent not found");
  }
}

/**
 * Routes without a scope are for signed-in users only; on other routes one of the named scopes is enough
 * (docs/behaviour.md#who-may-call-what).
 */
function checkKey(access: Exclude<Access, { auth: "none" | "agent" | "directory" }>, { record }: KeyHolder): void {
  if (access.auth === "any") return;
  if (access.auth === "optional" || access.keyScopes === undefined) {
    const message = "This operation needs the access token of a signed-in user, not an API key";
    throw new AppError("user_session_required", message);
  }
  if (!scopesOpen(record.scopes, access.keyScopes)) {
    throw new AppError("insufficient_scope", "API key does not have required permissions", {
      facts: { requiredScopes: access.keyScopes },
    });
  }
}
