import type { PublicCode } from "./errors.ts";

/** Why a request was refused, and what its sender can do about it. */
type Guide = { cause: string; remedy: string };

const narrower = "Ask an administrator for the role or scope that the operation names.";
const listFirst = "Take the id from the list of the same resource; what is outside of your access scope is not found.";
const newSignIn = "Sign in again.";
const later = "Repeat after `Retry-After`, with growing pauses.";
const newKey = "Use another key, or have one created.";
const fixBody = "Correct what `error` names, then send it again.";
const readState = "Read the record: its state decides what is possible.";

/** docs/errors.md is made from this table: a code without an entry does not compile. */
export const errorGuide: Record<PublicCode, Guide> = {
  bad_request: {
    cause: "The request breaks HTTP's rules: its target, a header, its framing or its compression.",
    remedy: fixBody,
  },
  cross_origin: {
    cause: "A page of another origin used a session cookie.",
    remedy: "Send a token in `Authorization`; cookies are for the console.",
  },
  invalid_json: { cause: "The body is not JSON (RFC 8259).", remedy: "`error` says where reading ended." },
  validation_failed: {
    cause: "Fields are missing, of a wrong type or out of bounds.",
    remedy: "`details` names each field and its error.",
  },
  unauthenticated: {
    cause: "No credential was sent, or its signature is wrong.",
    remedy: "Send a session token or an API key.",
  },
  token_expired: { cause: "The session token's time is over.", remedy: "`POST /auth/refresh`." },
  session_revoked: {
    cause: "The session was ended by its user, an administrator or a change of the account.",
    remedy: newSignIn,
  },
  invalid_credentials: {
    cause: "Address or password is wrong, or the account cannot sign in: the reply does not say which.",
    remedy: "Reset the password, or ask an administrator.",
  },
  invalid_refresh_token: { cause: "The refresh token is missing, over, or was used before.", remedy: newSignIn },
  permission_denied: { cause: "The role or the key lacks the operation's permission.", remedy: narrower },
  mfa_required: {
    cause: "The operation needs a second factor that was completed at most `MFA_MAX_AGE_MINUTES` ago.",
    remedy: "`POST /auth/mfa/verify` with a code; `enrollUrl` leads to a first factor.",
  },
  scope_not_allowed: {
    cause: "The operation is for another kind of caller: platform, partner or organization.",
    remedy: narrower,
  },
  user_session_required: {
    cause: "The operation is for users: keys are refused.",
    remedy: "Use a session of a user.",
  },
  misconfigured_account: {
    cause: "The account belongs to neither a partner nor the platform.",
    remedy: "A platform administrator has to correct it.",
  },
  partner_inactive: { cause: "The partner is suspended.", remedy: "Ask the platform's operator." },
  organization_inactive: { cause: "The organization is suspended.", remedy: "Ask the partner that manages it." },
  partner_not_found: { cause: "No partner has this id in your scope.", remedy: listFirst },
  audit_log_not_found: {
    cause: "No audit row has this id in your scope, or its retention is over.",
    remedy: listFirst,
  },
  audit_alert_not_found: { cause: "No alert of audit rows has this id in your scope.", remedy: listFirst },
  audit_export_not_found: {
    cause: "No export has this id in your scope, or it has no such part, or its parts were removed.",
    remedy: listFirst,
  },
  audit_export_not_ready: {
    cause: "The part or the manifest is not written yet.",
    remedy: "Poll `GET /audit-logs/exports/:id` until `parts` or `status` say that it is.",
  },
  audit_verification_not_found: { cause: "No verification has this id in your scope.", remedy: listFirst },
  organization_not_found: { cause: "No organization has this id in your scope.", remedy: listFirst },
  site_not_found: { cause: "No site has this id in your scope.", remedy: listFirst },
  device_not_found: { cause: "No device has this id in your scope.", remedy: listFirst },
  device_group_not_found: { cause: "No device group has this id in your scope.", remedy: listFirst },
  bulk_job_not_found: {
    cause: "No bulk job has this id among yours and those of your tenants; ended ones go after 30 days.",
    remedy: "Use the id from the reply that started it.",
  },
  saved_view_not_found: {
    cause: "No saved view has this id among yours and those shared with you.",
    remedy: listFirst,
  },
  user_not_found: { cause: "No user has this id in your scope.", remedy: listFirst },
  role_not_found: { cause: "No role has this id in your scope.", remedy: listFirst },
  api_key_missing: { cause: "The route takes API keys only, and none was sent.", remedy: "Send it as `X-API-Key`." },
  api_key_invalid_format: {
    cause: "The value is not formed like a key: it was truncated or quoted.",
    remedy: "Copy the whole key, without quotes or spaces.",
  },
  api_key_invalid: { cause: "No key has this value.", remedy: newKey },
  api_key_revoked: { cause: "The key was revoked or rotated.", remedy: newKey },
  api_key_expired: { cause: "The key's `expiresAt` has passed.", remedy: newKey },
  insufficient_scope: {
    cause: "The key's scopes do not include the operation's.",
    remedy: "Update the key's scopes, or use another key.",
  },
  address_not_allowed: {
    cause: "The credential is bound to networks that do not include the client's.",
    remedy: "Call from an allowed network, or extend `allowedIps`.",
  },
  api_key_not_found: { cause: "No API key has this id in your scope.", remedy: listFirst },
  enrollment_key_not_found: { cause: "No enrollment key has this id in your scope.", remedy: listFirst },
  service_principal_not_found: { cause: "No service principal has this id in your scope.", remedy: listFirst },
  key_not_active: { cause: "The key is revoked, expired or replaced.", remedy: "Create a new key." },
  principal_disabled: { cause: "The service principal is disabled.", remedy: "Enable it first." },
  unknown_parameter: {
    cause: "The operation has no query parameter of this name, and none is ignored.",
    remedy: "`parameters` names them, `details` says what is known.",
  },
  cursor_mismatch: {
    cause: "The cursor was returned for another list, filter or organization.",
    remedy: "Read the list from its beginning, without a cursor.",
  },
  unknown_scope: { cause: "No scope has this name.", remedy: "`GET /api-keys/scopes` lists them." },
  enrollment_key_invalid: { cause: "No enrollment key has this value.", remedy: "Copy it again, or create one." },
  enrollment_key_expired: { cause: "The enrollment key's time is over.", remedy: "Create another." },
  enrollment_key_exhausted: {
    cause: "The enrollment key was used as often as it may be.",
    remedy: "Create another, with more uses.",
  },
  organization_access_denied: { cause: "The organization exists outside of your scope.", remedy: narrower },
  site_access_denied: { cause: "The site exists outside of your scope.", remedy: narrower },
  partner_access_denied: { cause: "The partner exists outside of your scope.", remedy: narrower },
  site_restricted: {
    cause: "The account is limited to some sites, and the operation is about a whole organization.",
    remedy: narrower,
  },
  delegation_denied: {
    cause: "The change would give somebody more than the caller has.",
    remedy: "Let someone who holds it make the change.",
  },
  partner_context_required: {
    cause: "Organizations are created by partners.",
    remedy: "Use an account of a partner, or name `partnerId`.",
  },
  partner_id_required: { cause: "A platform account has no partner of its own.", remedy: "Name `partnerId`." },
  organization_context_required: {
    cause: "The operation concerns one organization, and the caller has several.",
    remedy: "Name `orgId`.",
  },
  no_updates: { cause: "The body of a change has no field that can be changed.", remedy: "Send at least one." },
  invalid_token: { cause: "The link of a mail or invitation is wrong, used or over.", remedy: "Have a new one sent." },
  invalid_mfa_code: {
    cause: "The code is wrong, over, or was used before.",
    remedy: "Enter the next one; check the clock of the device.",
  },
  invalid_mfa_token: { cause: "The sign-in waited too long for its second factor.", remedy: newSignIn },
  email_taken: { cause: "An account has this address.", remedy: "Use another address." },
  mfa_already_enabled: { cause: "The account has a second factor.", remedy: "Disable it first to enroll another." },
  mfa_not_enabled: { cause: "The account has no such second factor.", remedy: "Enroll it first." },
  not_found: { cause: "No route has this path.", remedy: "Compare with `GET /openapi.json`." },
  method_not_allowed: { cause: "The path has no such method.", remedy: "`Allow` lists those it has." },
  request_timeout: {
    cause: "The request arrived too slowly.",
    remedy: "Repeat it; send smaller bodies over slow lines.",
  },
  slug_taken: { cause: "Another organization or partner has this slug.", remedy: "Choose another." },
  idempotency_conflict: {
    cause: "The `Idempotency-Key` was used with another body.",
    remedy: "One key for one request and its repetitions.",
  },
  limit_reached: {
    cause: "The tenant has as many of these as it may.",
    remedy: "Remove some, or have the limit raised; the reply names it.",
  },
  device_count_changed: {
    cause: "More than 1 % more or fewer devices match the filter than `expectedCount` says; `count` is their number.",
    remedy: "Look at the list again, then send its number.",
  },
  device_not_quarantined: {
    cause: "The device is trusted already, or was never quarantined.",
    remedy: "Decommission it instead if it is to go.",
  },
  device_decommissioned: { cause: "The device was decommissioned.", remedy: "Enroll the machine again." },
  payload_too_large: {
    cause: "The body exceeds the route's limit, or consists of needlessly small chunks.",
    remedy: "Send less at a time.",
  },
  unsupported_media_type: {
    cause: "`Content-Type` or `Content-Encoding` is not what the route takes.",
    remedy: "Send `application/json`; gzip where the route says so.",
  },
  upgrade_required: { cause: "The route is a WebSocket.", remedy: "Connect with `Upgrade: websocket`." },
  headers_too_large: {
    cause: "The request's headers exceed 16 KiB.",
    remedy: "Send fewer cookies and shorter values.",
  },
  passkey_not_found: { cause: "The account has no passkey of this id.", remedy: listFirst },
  session_not_found: { cause: "The account has no session of this id.", remedy: listFirst },
  invalid_passkey: {
    cause: "The passkey is unknown, or its answer does not fit the challenge.",
    remedy: "Start again; use another passkey or a code.",
  },
  user_disabled: { cause: "The account is disabled.", remedy: "Enable it first." },
  last_administrator: {
    cause: "The change would leave the tenant without an administrator.",
    remedy: "Make someone else one first.",
  },
  role_in_use: { cause: "Users have this role.", remedy: "Give them another first." },
  role_immutable: { cause: "Built-in roles cannot be changed.", remedy: "Create a role of your own." },
  invitation_accepted: { cause: "The invitation was accepted.", remedy: "Nothing is left to do." },
  name_taken: { cause: "Another record of the tenant has this name.", remedy: "Choose another." },
  agent_token_invalid: { cause: "No device has this token.", remedy: "Enroll the machine again." },
  agent_token_revoked: {
    cause: "The token was revoked or rotated.",
    remedy: "Use the rotated token, else enroll again.",
  },
  agent_token_required: { cause: "The route is for agents.", remedy: "Send the token of an enrolled device." },
  agent_not_found: { cause: "The path names another device than the token.", remedy: "Use the id from enrollment." },
  agent_quarantined: { cause: "The device waits for approval.", remedy: "Approve it under the site's devices." },
  event_log_not_found: { cause: "The device has no event log of this name.", remedy: listFirst },
  event_log_entry_not_found: { cause: "The event log has no such entry.", remedy: listFirst },
  time_range_too_wide: { cause: "The query would read too many rows.", remedy: "Narrow `from` and `to`." },
  device_offline: { cause: "The device has no open channel.", remedy: "Repeat when it is online." },
  device_timeout: { cause: "The device has not answered in time.", remedy: later },
  device_error: {
    cause: "The device answered with an error, which the reply holds.",
    remedy: "Correct the query, or look at the device.",
  },
  device_busy: { cause: "The device has as many live queries as it may.", remedy: later },
  webhook_not_found: { cause: "No webhook has this id in your scope.", remedy: listFirst },
  delivery_not_found: { cause: "No delivery has this id, or its retention is over.", remedy: listFirst },
  dead_letter_not_found: { cause: "No dead letter has this id, or it was requeued.", remedy: listFirst },
  replay_not_found: { cause: "No replay has this id.", remedy: listFirst },
  portal_link_not_found: { cause: "No portal link has this id.", remedy: listFirst },
  audit_stream_not_found: { cause: "No audit stream has this id in your scope.", remedy: listFirst },
  event_not_found: { cause: "No event has this id in your scope, or its retention is over.", remedy: listFirst },
  event_type_not_found: { cause: "The organization has no own event type of this name.", remedy: listFirst },
  event_type_exists: {
    cause: "The organization has this event type.",
    remedy: "Change it with PATCH, or choose another.",
  },
  delivery_not_failed: { cause: "The delivery is pending, retrying or delivered.", remedy: readState },
  delivery_not_ended: { cause: "The delivery is pending or retrying.", remedy: "Wait for its outcome, then repeat." },
  invalid_webhook_url: {
    cause: "The URL leads to a private network, lacks https, or has a refused port; `reason` says which.",
    remedy: "Use a public https URL.",
  },
  unknown_event_type: { cause: "No event has this type.", remedy: "`GET /webhooks/event-types` lists them." },
  sso_not_configured: {
    cause: "The organization has no active provider.",
    remedy: "Create and activate one under `/sso/providers`.",
  },
  sso_provider_not_found: { cause: "No provider has this id in your scope.", remedy: listFirst },
  sso_domain_not_found: { cause: "No domain has this id in your scope.", remedy: listFirst },
  directory_not_found: { cause: "No directory has this id in your scope.", remedy: listFirst },
  directory_token_invalid: {
    cause: "The bearer token is none of a directory, or was revoked.",
    remedy: "Rotate the directory's token, and enter the new one at the directory.",
  },
  directory_paused: { cause: "An administrator has paused the directory.", remedy: "Set its status to active." },
  managed_by_directory: {
    cause: "The user is managed by a directory, which would undo the change.",
    remedy: "Change the user in the directory that the record names.",
  },
  scim_invalid: {
    cause: "A filter, a path or a value of a SCIM request is wrong.",
    remedy: "`scimType` and `detail` say what; [directories](directory.md#when-a-request-is-refused).",
  },
  scim_uniqueness: {
    cause: "Another resource of the directory, or a user of the tenant, has this name, id or address.",
    remedy: "Read the other one by a filter, and change it instead.",
  },
  scim_resource_not_found: {
    cause: "The directory has no resource of this id.",
    remedy: "Read the list by a filter: the id may be of another directory, or deleted.",
  },
  scim_version_mismatch: { cause: "The resource has changed since it was read.", remedy: "Read it again." },
  sso_attempt_not_found: {
    cause: "No sign-in has this id in your scope, or fifty newer ones through its provider have replaced it.",
    remedy: "List the sign-ins first, or have the user sign in again.",
  },
  sso_incomplete_provider: {
    cause: "The provider lacks fields that sign-in needs: `missing` names them.",
    remedy: "Update the provider.",
  },
  sso_discovery_failed: {
    cause: "The provider's metadata could not be read: `error` says why.",
    remedy: "Correct its URL, or see that it answers.",
  },
  sso_required: { cause: "The organization demands single sign-on.", remedy: "Sign in at its provider." },
  invalid_exchange_code: { cause: "The code of a sign-in was used, or is older than a minute.", remedy: newSignIn },
  invalid_user_code: {
    cause: "No sign-in waits under this code: it is wrong, was used, or is older than ten minutes.",
    remedy: "Compare it with the command line; begin again there when it has expired.",
  },
  authorization_pending: {
    cause: "The user has not approved the client yet.",
    remedy: "Ask again after the interval.",
  },
  slow_down: {
    cause: "The client asked again before its interval was over.",
    remedy: "Wait `intervalSeconds`, which is 5 more than before, between requests from now on.",
  },
  expired_token: { cause: "The code is unknown, was used, or is older than ten minutes.", remedy: newSignIn },
  access_denied: {
    cause: "The user refused the client, or their access ended before it signed in.",
    remedy: newSignIn,
  },
  domain_taken: { cause: "Another tenant has verified this domain.", remedy: "Ask the platform's operator." },
  domain_not_allowed: {
    cause: "Another tenant has verified the address's domain.",
    remedy: "Ask that tenant, or verify a nearer domain.",
  },
  saml_metadata_invalid: { cause: "The metadata describes no usable provider.", remedy: "`error` names the element." },
  last_sign_in_method: { cause: "The account would have no way left to sign in.", remedy: "Set a password first." },
  agent_version_not_found: { cause: "No version of the component has this id.", remedy: listFirst },
  rollout_not_found: { cause: "No rollout has this id in your scope.", remedy: listFirst },
  rollout_template_not_found: { cause: "There is no template of rollouts with this id.", remedy: listFirst },
  release_source_not_found: { cause: "No source of releases has this id.", remedy: listFirst },
  release_exists: {
    cause: "The version is registered, with the same files or others.",
    remedy: "Register another version: bytes of a version never change.",
  },
  release_in_use: {
    cause: "The version is promoted, pinned or rolled out: `reason` says which.",
    remedy: "End its use first.",
  },
  rollout_not_running: { cause: "The rollout has ended, or is paused.", remedy: readState },
  rollout_over_threshold: {
    cause:
      "More updates failed than the rollout allows: `failed`, `failuresBeforeResume` and `threshold` have the numbers.",
    remedy: "Find the cause first; then resume with `acceptFailures`, so that these failures no longer count.",
  },
  rollback_note_required: {
    cause: "A pin with `allowDowngrade` has no `rollbackNote`.",
    remedy: "Sign one with `muster release rollback`, by a key of the manifests.",
  },
  release_untrusted: {
    cause: "The release is unsigned, or no configured key signed it.",
    remedy: "Sign its manifest with a key of `RELEASE_MANIFEST_KEYS`.",
  },
  release_sync_failed: {
    cause: "The source of releases did not answer as it should.",
    remedy: "`error` holds what it said.",
  },
  rate_limited: {
    cause: "The caller sent more than its limit.",
    remedy: "Wait for `Retry-After`; `X-RateLimit-*` shows what is left.",
  },
  log_quota_exceeded: {
    cause: "The agents of the organization sent as many log rows or bytes as it may in a day of UTC.",
    remedy: "Keep entries until `Retry-After`. Send less, or have an administrator of the platform raise the quota.",
  },
  internal: { cause: "A bug in Muster.", remedy: "Report the `requestId`: the log holds the cause." },
  overloaded: { cause: "The platform refuses work beyond its capacity, before it starts.", remedy: later },
  unavailable: { cause: "A service, the database or NATS does not answer.", remedy: later },
  deadline_exceeded: {
    cause: "The work was not done in time; whether it was done at all is unknown.",
    remedy: "Read the record, or repeat with the same `Idempotency-Key`.",
  },
  cancelled: { cause: "The client disconnected.", remedy: "Nobody receives this code: it stands in logs." },
};
