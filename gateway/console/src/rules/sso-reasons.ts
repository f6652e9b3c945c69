const askAdministrator = "Ask your administrator.";

/**
 * What users read about a login flow that ended without a session (docs/sso.md#when-a-sign-in-fails). Details are for
 * administrators alone.
 */
const sentences: Readonly<Record<string, string>> = {
  invalid_callback: "This sign-in was started in another browser, or twice. Start again.",
  session_expired: "The sign-in took longer than ten minutes. Start again.",
  provider_changed: "The settings of the identity provider were changed meanwhile. Start again.",
  idp_error: "The identity provider refused the sign-in.",
  token_invalid: `The identity provider's answer could not be verified. ${askAdministrator}`,
  assertion_invalid: `The identity provider's answer could not be verified. ${askAdministrator}`,
  email_missing: `The identity provider sent no e-mail address. ${askAdministrator}`,
  email_unverified: "The identity provider has not verified your e-mail address.",
  domain_not_allowed: `Your e-mail domain may not sign in here. ${askAdministrator}`,
  domain_not_verified: `Your organization has not verified your e-mail domain yet. ${askAdministrator}`,
  link_required:
    "An account with your e-mail address exists. Sign in with your password and link the provider in your profile.",
  user_not_found: `You have no account here yet. ${askAdministrator}`,
  invite_required: "You have no account here yet. Ask your administrator for an invitation.",
  no_org_access: `Your account belongs to another organization. ${askAdministrator}`,
  user_disabled: `Your account is disabled. ${askAdministrator}`,
  tenant_inactive: "Your organization is not active.",
  default_role_invalid: `Accounts cannot be created at the moment. ${askAdministrator}`,
  busy: "Too many people sign in at the moment. Start again in a minute.",
  internal: "Something went wrong on our side. Start again in a moment.",
  email_mismatch: "The identity provider knows you by another e-mail address.",
  identity_in_use: "This identity is linked to another account.",
  user_gone: "The account that you wanted to link does not exist any more.",
};

export const ssoReasonSentence = (reason: string): string =>
  (Object.hasOwn(sentences, reason) ? sentences[reason] : null) ?? "The sign-in through the identity provider failed.";

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * What a failed sign-in is looked up by, from the address of the page; null when it names none, or anything else than
 * an id: whoever made the address would write on our page.
 */
export function attemptIn(address: URLSearchParams): string | null {
  const id = address.get("attempt") ?? "";
  return uuid.test(id) ? id : null;
}
