import { domainToUnicode } from "node:url";
import { AppError } from "@muster/kit";
import { domainOf } from "./sso/email-domain.ts";

/**
 * Where an account stands, or who claims an address: an organization, a partner (no `orgId`), the platform (neither).
 */
export type Tenant = { partnerId: string | null; orgId: string | null };

/**
 * How the address of an account was proven: `mailbox` by a link that only a mail carried, `domain` by the tenant's
 * verified domain, `operator` for the platform's own administrators, `assumed` for accounts older than this rule.
 */
export type Proof = "mailbox" | "domain" | "operator" | "assumed";

/** An account that has the address; null: unproven. */
export type Holder = { userId: string; tenant: Tenant; proof: Proof | null };

/** What a claim rests on: a link out of a mail, or nothing that shows the mailbox to be the user's. */
export type Evidence = "mailbox" | "none";

export type Claim = {
  email: string;
  by: Tenant;
  /** The tenant that verified the nearest domain of the address. */
  owner: Tenant | null;
  /** Without the account that the address is claimed for. */
  holders: readonly Holder[];
  evidence: Evidence;
};

const checked = Symbol("checked");

/** An address that may be used by an account; only this file makes one, and nothing stores an account without it. */
export type ClaimedAddress = {
  readonly email: string;
  readonly proof: Proof | null;
  /** Accounts that must give the address up. */
  readonly yielding: readonly string[];
  readonly [checked]: true;
};

/** The domains that decide over an address, the nearest first: its own and those above it. Empty when it has none. */
export function domainsOf(email: string): string[] {
  const labels = domainOf(email)?.split(".") ?? [];
  return labels.slice(0, -1).map((_label, at) => labels.slice(at).join("."));
}

/** A domain as addresses may contain it: ASCII, and with its own letters. */
export const formsOf = (domain: string): string[] => [...new Set([domain, domainToUnicode(domain).toLowerCase()])];

/** Whether a tenant counts as the owner of what another tenant owns: itself, or its partner, or the platform. */
export function ownsFor(tenant: Tenant, owner: Tenant): boolean {
  if (tenant.partnerId === null) return true;
  return tenant.partnerId === owner.partnerId && (tenant.orgId === null || tenant.orgId === owner.orgId);
}

/** Whether a tenant belongs to another's: it owns for it, or is an organization of the partner that is the owner. */
const isWithin = (tenant: Tenant, owner: Tenant): boolean =>
  ownsFor(tenant, owner) || (owner.orgId === null && tenant.partnerId === owner.partnerId);

/** The address for an invitation, which claims nothing until it is accepted. Null in another tenant's domain. */
export function checkInvitation({ email, by, owner }: Pick<Claim, "email" | "by" | "owner">): ClaimedAddress | null {
  if (owner !== null && !ownsFor(by, owner)) return null;
  return { email, proof: null, yielding: [], [checked]: true };
}

/**
 * The address for an account, with the accounts that yield it. Null when another tenant owns the domain, or a proven
 * owner has the address elsewhere: callers answer both with one sentence, whether or not an account exists.
 */
export function checkClaim(claim: Claim): ClaimedAddress | null {
  const { email, by, owner, holders } = claim;
  if (owner !== null && !ownsFor(by, owner)) return null;
  const proof = proofOf(claim);
  const staying = holders.filter((holder) => !yieldsTo(holder, proof, owner));
  if (staying.some((holder) => holder.proof !== null)) return null;
  const yielding = proof === null ? [] : holders.map(({ userId }) => userId);
  return { email, proof, yielding, [checked]: true };
}

function proofOf({ by, owner, evidence }: Claim): Proof | null {
  if (by.partnerId === null) return "operator";
  if (evidence === "mailbox") return "mailbox";
  return owner === null ? null : "domain";
}

/**
 * Whether an account gives its address up to a claim of this proof, which the domain's owner makes where there is one.
 */
function yieldsTo({ proof, tenant }: Holder, claim: Proof | null, owner: Tenant | null): boolean {
  if (claim === null) return false;
  if (proof === null) return true;
  return claim !== "operator" && owner !== null && yieldsToDomain({ proof, tenant }, owner);
}

/** Whether an account gives its address up when `owner` verifies its domain: a proven mailbox outlasts that. */
export function yieldsToDomain({ proof, tenant }: Pick<Holder, "proof" | "tenant">, owner: Tenant): boolean {
  return !isWithin(tenant, owner) && proof !== "mailbox" && proof !== "operator";
}

/** The address of an account that gave its own up: readable, unique, and nobody's mailbox (RFC 2606). */
export const yieldedEmail = (email: string, userId: string): string =>
  `${email.slice(0, 200)}.${userId.slice(-12)}.invalid`;

/** The one answer to whoever may not use an address. */
export const addressNotAllowed = () => new AppError("domain_not_allowed", addressRefusal);
export const addressRefusal = "This e-mail address cannot be used here";
