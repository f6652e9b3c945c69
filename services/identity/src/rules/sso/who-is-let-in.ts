import type { FailureReason } from "./reasons.ts";

/** The fields of an account or invitation that the sign-in decision needs. */
export type Candidate = {
  userId: string;
  status: "invited" | "active" | "disabled";
  hasPassword: boolean;
  /** Linked to this provider under another external id. */
  linkedOtherwise: boolean;
};

export type Facts = {
  /** The organization's provider makes accounts, a partner's never does. */
  provisions: "on" | "off" | "never";
  emailVerified: boolean | null;
  /** The provider's owner has verified the e-mail's domain. */
  domainVerified: boolean;
  /** The account of the link, when the external id is known. */
  linked: Pick<Candidate, "userId" | "status"> | null;
  /** By e-mail, of the provider's owner alone. */
  found: Candidate | null;
  /** Another tenant owns the e-mail's domain (rules/address-owner.ts). */
  isForeign: boolean;
};

export type Verdict =
  | { kind: "in"; userId: string; how: "linked" | "matched" | "accepted" }
  | { kind: "provision" }
  | { kind: "refused"; reason: FailureReason };

const refused = (reason: FailureReason): Verdict => ({ kind: "refused", reason });

/**
 * The account of a claimed identity, if any. Links have precedence: a link was made by its user, or when the address
 * was proven. An account with a password is matched by address only where the domain is verified, so that no identity
 * provider can take an account over.
 */
export function whoIsLetIn({ provisions, emailVerified, domainVerified, linked, found, isForeign }: Facts): Verdict {
  if (emailVerified === false) return refused("email_unverified");
  if (linked !== null) {
    return linked.status === "active"
      ? { kind: "in", userId: linked.userId, how: "linked" }
      : refused(linked.status === "disabled" ? "user_disabled" : "link_required");
  }
  // Whether or not an account exists: the answer is the same for every address of the domain.
  if (isForeign) return refused("domain_not_allowed");
  const isProven = emailVerified === true || domainVerified;
  if (found !== null) {
    if (found.status === "disabled") return refused("user_disabled");
    if (found.linkedOtherwise) return refused("link_required");
    if (found.hasPassword && !domainVerified) return refused("link_required");
    if (!isProven) return refused("domain_not_verified");
    return { kind: "in", userId: found.userId, how: found.status === "invited" ? "accepted" : "matched" };
  }
  if (provisions === "never") return refused("invite_required");
  if (provisions === "off") return refused("user_not_found");
  return isProven ? { kind: "provision" } : refused("domain_not_verified");
}
