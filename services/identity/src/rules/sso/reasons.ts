/** Why a login flow ended without a session: shown in the address of the sign-in page. Closed. */
export const failureReasons = [
  "invalid_callback",
  "session_expired",
  "provider_changed",
  "idp_error",
  "token_invalid",
  "assertion_invalid",
  "email_missing",
  "email_unverified",
  "domain_not_allowed",
  "domain_not_verified",
  "link_required",
  "user_not_found",
  "invite_required",
  "no_org_access",
  "user_disabled",
  "tenant_inactive",
  "default_role_invalid",
  "busy",
  "internal",
] as const;
export type FailureReason = (typeof failureReasons)[number];

/** Why one's own account was not linked; everything else is a failure as at sign-in. */
export const linkReasons = ["email_mismatch", "identity_in_use", "user_gone"] as const;
export type LinkReason = (typeof linkReasons)[number];

/** The checks of a login flow in their order; an attempt names the last that was made. */
export const steps = [
  "login",
  "cookie",
  "consume",
  "generation",
  "idp_error",
  "iss",
  "tokens",
  "assertion",
  "claims",
  "email_verified",
  "allowed_domains",
  "person",
  "link",
  "code",
] as const;
export type Step = (typeof steps)[number];

/** A check ended the login flow; `detail` is for the provider's administrators, never a token, code or assertion. */
export class LoginFlowEnded extends Error {
  readonly step: Step;
  readonly reason: FailureReason | LinkReason;
  readonly detail: string;

  constructor(step: Step, reason: FailureReason | LinkReason, detail: string, options: { cause?: unknown } = {}) {
    super(`${step}: ${reason}`, options);
    this.name = "LoginFlowEnded";
    this.step = step;
    this.reason = reason;
    this.detail = detail;
  }
}
