import { AppError, type ErrorCode } from "@muster/kit";

/** Codes that only the gateway returns: they never cross RPC. */
export type EdgeCode =
  | "bad_request"
  | "cross_origin"
  | "method_not_allowed"
  | "request_timeout"
  | "payload_too_large"
  | "unsupported_media_type"
  | "upgrade_required"
  | "headers_too_large";

export type PublicCode = ErrorCode | EdgeCode;

type HttpError = {
  status: number;
  /** Shown instead of the error's own text. */
  text?: string;
  /** Seconds of Retry-After when the error names none. */
  retryAfterSeconds?: number;
  /** Carries `WWW-Authenticate` (RFC 6750 section 3). */
  challenge?: string;
  /** Facts are omitted: only the code may be shown. */
  bare?: true;
};

const challenge = "Bearer";
const invalidToken = 'Bearer error="invalid_token"';
/** No scheme is registered for keys in a separate header; this one names the header. */
const keyChallenge = 'ApiKey realm="X-API-Key"';

/** Every code and its HTTP form: a code without an entry does not compile. */
const table: Record<PublicCode, HttpError> = {
  bad_request: { status: 400 },
  cross_origin: { status: 403 },
  invalid_json: { status: 400 },
  validation_failed: { status: 400 },
  unauthenticated: { status: 401, challenge },
  token_expired: { status: 401, challenge: invalidToken },
  session_revoked: { status: 401, challenge: invalidToken },
  invalid_credentials: { status: 401, challenge },
  invalid_refresh_token: { status: 401, challenge: invalidToken },
  permission_denied: { status: 403 },
  mfa_required: { status: 403 },
  scope_not_allowed: { status: 403 },
  user_session_required: { status: 403 },
  misconfigured_account: { status: 403, text: "Misconfigured account" },
  partner_inactive: { status: 403 },
  organization_inactive: { status: 403 },
  partner_not_found: { status: 404, text: "Partner not found" },
  audit_log_not_found: { status: 404 },
  audit_verification_not_found: { status: 404 },
  audit_alert_not_found: { status: 404 },
  audit_export_not_found: { status: 404 },
  audit_export_not_ready: { status: 409 },
  organization_not_found: { status: 404, text: "Organization not found" },
  site_not_found: { status: 404 },
  device_not_found: { status: 404 },
  device_group_not_found: { status: 404 },
  saved_view_not_found: { status: 404 },
  bulk_job_not_found: { status: 404 },
  user_not_found: { status: 404 },
  role_not_found: { status: 404 },
  api_key_missing: { status: 401, challenge: keyChallenge },
  api_key_invalid_format: { status: 401, challenge: keyChallenge },
  api_key_invalid: { status: 401, challenge: keyChallenge },
  api_key_revoked: { status: 401, challenge: keyChallenge },
  api_key_expired: { status: 401, challenge: keyChallenge },
  insufficient_scope: { status: 403, text: "API key does not have required permissions" },
  address_not_allowed: { status: 403 },
  api_key_not_found: { status: 404 },
  enrollment_key_not_found: { status: 404 },
  service_principal_not_found: { status: 404 },
  key_not_active: { status: 409, text: "Only active keys can be updated or rotated" },
  principal_disabled: { status: 409 },
  unknown_parameter: { status: 400 },
  cursor_mismatch: { status: 400 },
  unknown_scope: { status: 400 },
  enrollment_key_invalid: { status: 401, challenge },
  enrollment_key_expired: { status: 401, challenge },
  enrollment_key_exhausted: { status: 401, challenge },
  organization_access_denied: { status: 403, text: "Access to this organization denied" },
  site_access_denied: { status: 403, text: "Access to this site denied" },
  partner_access_denied: { status: 403, text: "Access denied to this partner" },
  site_restricted: { status: 403 },
  delegation_denied: { status: 403 },
  partner_context_required: { status: 400, text: "Partner context required to create organizations" },
  partner_id_required: { status: 400, text: "partnerId is required for system scope" },
  organization_context_required: { status: 400, text: "Organization context required" },
  no_updates: { status: 400, text: "No updates provided" },
  invalid_token: { status: 400 },
  invalid_mfa_code: { status: 401, challenge: invalidToken },
  invalid_mfa_token: { status: 401, challenge: invalidToken },
  email_taken: { status: 409 },
  mfa_already_enabled: { status: 409 },
  mfa_not_enabled: { status: 409 },
  not_found: { status: 404 },
  method_not_allowed: { status: 405 },
  request_timeout: { status: 408 },
  slug_taken: { status: 409 },
  idempotency_conflict: { status: 409 },
  limit_reached: { status: 409 },
  device_decommissioned: { status: 409 },
  device_not_quarantined: { status: 409 },
  device_count_changed: { status: 409 },
  payload_too_large: { status: 413 },
  unsupported_media_type: { status: 415 },
  upgrade_required: { status: 426 },
  headers_too_large: { status: 431 },
  passkey_not_found: { status: 404 },
  session_not_found: { status: 404 },
  invalid_passkey: { status: 401, challenge: invalidToken },
  user_disabled: { status: 409 },
  last_administrator: { status: 409 },
  role_in_use: { status: 409 },
  role_immutable: { status: 409 },
  invitation_accepted: { status: 409 },
  name_taken: { status: 409 },
  agent_token_invalid: { status: 401, challenge: invalidToken },
  agent_token_revoked: { status: 401, challenge: invalidToken },
  agent_token_required: { status: 403 },
  agent_not_found: { status: 404 },
  agent_quarantined: { status: 409 },
  event_log_not_found: { status: 404 },
  event_log_entry_not_found: { status: 404 },
  time_range_too_wide: { status: 400 },
  device_offline: { status: 503, retryAfterSeconds: 5 },
  device_timeout: { status: 504 },
  device_error: { status: 502 },
  device_busy: { status: 429, retryAfterSeconds: 1 },
  webhook_not_found: { status: 404 },
  delivery_not_found: { status: 404 },
  dead_letter_not_found: { status: 404 },
  replay_not_found: { status: 404 },
  portal_link_not_found: { status: 404 },
  audit_stream_not_found: { status: 404 },
  event_not_found: { status: 404 },
  event_type_not_found: { status: 404 },
  event_type_exists: { status: 409 },
  delivery_not_failed: { status: 409, text: "Only failed deliveries can be retried" },
  delivery_not_ended: { status: 409 },
  invalid_webhook_url: { status: 400, text: "Invalid webhook URL" },
  unknown_event_type: { status: 400 },
  sso_not_configured: { status: 404, text: "No active SSO provider for this organization" },
  sso_provider_not_found: { status: 404 },
  sso_domain_not_found: { status: 404 },
  directory_not_found: { status: 404 },
  directory_token_invalid: { status: 401, challenge: "Bearer" },
  directory_paused: { status: 503, retryAfterSeconds: 300 },
  managed_by_directory: { status: 403 },
  scim_invalid: { status: 400 },
  scim_uniqueness: { status: 409 },
  scim_resource_not_found: { status: 404 },
  scim_version_mismatch: { status: 412 },
  sso_attempt_not_found: { status: 404 },
  sso_incomplete_provider: { status: 409 },
  sso_discovery_failed: { status: 502 },
  sso_required: { status: 403 },
  invalid_exchange_code: { status: 400, text: "Invalid or expired token exchange code" },
  invalid_user_code: { status: 400 },
  authorization_pending: { status: 400 },
  slow_down: { status: 400 },
  expired_token: { status: 400 },
  access_denied: { status: 400 },
  domain_taken: { status: 409 },
  domain_not_allowed: { status: 403 },
  saml_metadata_invalid: { status: 400 },
  last_sign_in_method: { status: 409 },
  agent_version_not_found: { status: 404 },
  rollout_not_found: { status: 404 },
  rollout_template_not_found: { status: 404 },
  release_source_not_found: { status: 404 },
  release_exists: { status: 409 },
  release_in_use: { status: 409 },
  rollout_not_running: { status: 409 },
  rollout_over_threshold: { status: 409 },
  rollback_note_required: { status: 400 },
  release_untrusted: { status: 400 },
  release_sync_failed: { status: 502 },
  rate_limited: { status: 429, retryAfterSeconds: 1 },
  log_quota_exceeded: { status: 429, retryAfterSeconds: 60 },
  internal: { status: 500, text: "Internal server error", bare: true },
  overloaded: { status: 503, text: "Service is overloaded, try again shortly", retryAfterSeconds: 1 },
  unavailable: { status: 503, text: "Service is temporarily unavailable", retryAfterSeconds: 1, bare: true },
  deadline_exceeded: { status: 504, text: "The request took too long", bare: true },
  // The client disconnected; the status appears in the log only (nginx's 499 is not registered).
  cancelled: { status: 400, text: "Request was cancelled", bare: true },
};

/** A refusal of the edge itself. */
export class EdgeError extends Error {
  readonly code: EdgeCode;
  readonly headers: readonly string[];

  constructor(code: EdgeCode, publicMessage: string, headers: readonly string[] = []) {
    super(publicMessage);
    this.name = "EdgeError";
    this.code = code;
    this.headers = headers;
  }
}

export type ErrorReply = { status: number; code: PublicCode; body: string; headers: string[] };

export function statusOf(code: PublicCode): number {
  return table[code].status;
}

/**
 * What a client sees of a failure: `{error, code, requestId}` plus the error's public facts (docs/behaviour.md#errors).
 * Every other error is a 500 without details.
 */
export function errorReply(error: unknown, requestId: string): ErrorReply {
  if (error instanceof AppError)
    return render(error.code, error.message, requestId, error.facts, error.retryAfterSeconds);
  if (error instanceof EdgeError) {
    const reply = render(error.code, error.message, requestId, {}, undefined);
    reply.headers.push(...error.headers);
    return reply;
  }
  return render("internal", "", requestId, {}, undefined);
}

/** How an error appears inside another reply: its code and its sentence. */
export function errorFields(error: AppError | EdgeError): { code: PublicCode; error: string } {
  return { code: error.code, error: textOf(error.code, error.message) };
}

/** 503: there is no capacity for the request; it may be repeated after `retryAfterSeconds`. */
export function overloaded(retryAfterSeconds = 1, cause?: unknown): AppError {
  return new AppError("overloaded", textOf("overloaded", ""), { retryAfterSeconds, cause });
}

/** 503: a part of the platform that the reply needs does not answer. */
export function unavailable(cause?: unknown): AppError {
  return new AppError("unavailable", textOf("unavailable", ""), { retryAfterSeconds: 1, cause });
}

const textOf = (code: PublicCode, message: string): string => table[code].text ?? message;

function render(
  code: PublicCode,
  message: string,
  requestId: string,
  facts: Record<string, unknown>,
  retryAfterSeconds: number | undefined,
): ErrorReply {
  const row = table[code];
  const body = { ...(row.bare ? {} : facts), error: textOf(code, message), code, requestId };
  const headers: string[] = [];
  if (row.challenge) headers.push("WWW-Authenticate", row.challenge);
  const retryAfter = retryAfterSeconds ?? row.retryAfterSeconds;
  if (retryAfter !== undefined) headers.push("Retry-After", String(Math.max(1, Math.ceil(retryAfter))));
  return { status: row.status, code, body: JSON.stringify(body), headers };
}
