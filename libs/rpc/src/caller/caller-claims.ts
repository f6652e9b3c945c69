import {
  type Actor,
  type ActorType,
  AppError,
  type Caller,
  hasFields,
  isPortalCapability,
  isUuid,
  type PortalSession,
  type Scope,
} from "@muster/kit";

/** Audience of the caller tokens of one service: what it is given is good nowhere else. */
export const callerAudience = (service: string): string => `muster-internal/${service}`;
/** Longest life of a caller token. */
export const maxTokenSeconds = 60;
/**
 * Most organizations, and most sites, that a token lists. Packed they are 16 bytes each in base64url: 500 make 10.7 KB
 * of claims and 14 KB of token; both sides of the wire take 64 KB of headers (Node's default is 16 KB).
 */
export const maxListedIds = 500;

/** Claims of a caller token besides iss, aud, iat and exp. Id lists are packed; an absent list means unrestricted. */
export type CallerClaims = {
  actor: Actor;
  scope: Scope;
  partnerId: string | null;
  orgId: string | null;
  orgIds?: string;
  siteIds?: string;
  permissions: readonly string[];
  mfaAtMs: number | null;
  sessionId: string | null;
  keyId: string | null;
  portal?: PortalSession;
};

/** Throws `limit_reached` when a list is longer than `maxListedIds`. */
export function toClaims(caller: Caller): CallerClaims {
  return {
    actor: caller.actor,
    scope: caller.scope,
    partnerId: caller.partnerId,
    orgId: caller.orgId,
    ...(caller.orgAccess.mode === "list" ? { orgIds: packIds(caller.orgAccess.orgIds, "organizations") } : {}),
    ...(caller.siteIds ? { siteIds: packIds(caller.siteIds, "sites") } : {}),
    permissions: caller.permissions,
    mfaAtMs: caller.mfaAt?.getTime() ?? null,
    sessionId: caller.sessionId,
    keyId: caller.keyId,
    ...(caller.portal ? { portal: caller.portal } : {}),
  };
}

/** Throws a plain Error naming the first claim that has the wrong shape. */
export function fromClaims(claims: Record<string, unknown>): Caller {
  const actor = object(claims.actor, "actor");
  const caller: Caller = {
    actor: {
      type: oneOf<ActorType>(actor.type, actorTypes, "actor.type"),
      id: text(actor.id, "actor.id"),
      email: textOrNull(actor.email, "actor.email"),
      name: textOrNull(actor.name, "actor.name"),
      role: textOrNull(actor.role, "actor.role"),
      department: textOrNull(actor.department, "actor.department"),
    },
    scope: oneOf<Scope>(claims.scope, scopes, "scope"),
    partnerId: textOrNull(claims.partnerId, "partnerId"),
    orgId: textOrNull(claims.orgId, "orgId"),
    orgAccess:
      claims.orgIds === undefined
        ? { mode: "all" }
        : { mode: "list", orgIds: unpackIds(text(claims.orgIds, "orgIds"), "orgIds") },
    siteIds: claims.siteIds === undefined ? null : unpackIds(text(claims.siteIds, "siteIds"), "siteIds"),
    permissions: texts(claims.permissions, "permissions"),
    mfaAt: claims.mfaAtMs === null ? null : instant(claims.mfaAtMs),
    sessionId: textOrNull(claims.sessionId, "sessionId"),
    keyId: textOrNull(claims.keyId, "keyId"),
    ...(claims.portal === undefined ? {} : { portal: portalSession(object(claims.portal, "portal")) }),
  };
  checkPortal(caller);
  return caller;
}

function portalSession(claim: Record<string, unknown>): PortalSession {
  const author = object(claim.author, "portal.author");
  return {
    linkId: text(claim.linkId, "portal.linkId"),
    capabilities: texts(claim.capabilities, "portal.capabilities").filter(isPortalCapability),
    author: {
      type: oneOf<"user" | "api_key">(author.type, ["user", "api_key"], "portal.author.type"),
      id: text(author.id, "portal.author.id"),
      name: textOrNull(author.name, "portal.author.name"),
    },
  };
}

/** A portal session is one of an organization; nobody else has one. */
function checkPortal({ actor, scope, orgId, portal }: Caller): void {
  const isPortal = actor.type === "portal";
  if (isPortal !== (portal !== undefined)) throw new TypeError("claim portal does not fit the actor");
  if (isPortal && (scope !== "organization" || orgId === null))
    throw new TypeError("a portal session has another scope");
}

function packIds(ids: readonly string[], what: string): string {
  if (ids.length > maxListedIds) {
    throw new AppError("limit_reached", `A caller may be limited to at most ${maxListedIds} ${what}`, {
      facts: { limit: maxListedIds },
    });
  }
  const bytes = Buffer.allocUnsafe(ids.length * 16);
  ids.forEach((id, index) => {
    if (!isUuid(id)) throw new TypeError(`${what} of a caller must be UUIDs`);
    bytes.write(id.replaceAll("-", ""), index * 16, "hex");
  });
  return bytes.toString("base64url");
}

function unpackIds(packed: string, claim: string): string[] {
  const hex = Buffer.from(packed, "base64url").toString("hex");
  if (hex.length % 32 !== 0) throw new TypeError(`claim ${claim} is not a packed list of ids`);
  const ids: string[] = [];
  for (let at = 0; at < hex.length; at += 32) {
    const part = (from: number, to: number) => hex.slice(at + from, at + to);
    ids.push(`${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`);
  }
  return ids;
}

const actorTypes: readonly ActorType[] = ["user", "api_key", "agent", "portal", "system"];
const scopes: readonly Scope[] = ["system", "partner", "organization"];

function object(value: unknown, claim: string): Readonly<Record<string, unknown>> {
  if (!hasFields(value)) throw new TypeError(`claim ${claim} is not an object`);
  return value;
}

function text(value: unknown, claim: string): string {
  if (typeof value !== "string") throw new TypeError(`claim ${claim} is not text`);
  return value;
}

function textOrNull(value: unknown, claim: string): string | null {
  return value === null ? null : text(value, claim);
}

function texts(value: unknown, claim: string): string[] {
  if (!Array.isArray(value)) throw new TypeError(`claim ${claim} is not a list`);
  return value.map((item) => text(item, claim));
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[], claim: string): T {
  const found = allowed.find((item) => item === value);
  if (found === undefined) throw new TypeError(`claim ${claim} has an unknown value`);
  return found;
}

function instant(value: unknown): Date {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new TypeError("claim mfaAtMs is not a number");
  return new Date(value);
}
