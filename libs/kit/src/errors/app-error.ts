/** Every code that may cross RPC or reach a client. Closed: a new one is added here and in the gateway's table. */
export const errorCodes = [
  "validation_failed",
  "invalid_json",
  "unauthenticated",
  "token_expired",
  "session_revoked",
  "invalid_credentials",
  "invalid_refresh_token",
  "permission_denied",
  "mfa_required",
  "scope_not_allowed",
  "user_session_required",
  "misconfigured_account",
  "partner_inactive",
  "organization_inactive",
  "partner_not_found",
  "audit_log_not_found",
  "audit_verification_not_found",
  "audit_alert_not_found",
  "audit_export_not_found",
  "audit_export_not_ready",
  "organization_not_found",
  "site_not_found",
  "device_not_found",
  "device_group_not_found",
  "device_not_quarantined",
  "saved_view_not_found",
  "bulk_job_not_found",
  "device_count_changed",
  "user_not_found",
  "role_not_found",
  "api_key_missing",
  "api_key_invalid_format",
  "api_key_invalid",
  "api_key_revoked",
  "api_key_expired",
  "insufficient_scope",
  "address_not_allowed",
  "api_key_not_found",
  "enrollment_key_not_found",
  "service_principal_not_found",
  "key_not_active",
  "principal_disabled",
  "unknown_parameter",
  "cursor_mismatch",
  "unknown_scope",
  "enrollment_key_invalid",
  "enrollment_key_expired",
  "enrollment_key_exhausted",
  "organization_access_denied",
  "site_access_denied",
  "partner_access_denied",
  "site_restricted",
  "delegation_denied",
  "partner_context_required",
  "partner_id_required",
  "organization_context_required",
  "no_updates",
  "invalid_token",
  "invalid_mfa_code",
  "invalid_mfa_token",
  "email_taken",
  "mfa_already_enabled",
  "mfa_not_enabled",
  "not_found",
  "slug_taken",
  "idempotency_conflict",
  "limit_reached",
  "device_decommissioned",
  "passkey_not_found",
  "session_not_found",
  "invalid_passkey",
  "user_disabled",
  "last_administrator",
  "role_in_use",
  "role_immutable",
  "invitation_accepted",
  "name_taken",
  "agent_token_invalid",
  "agent_token_revoked",
  "agent_token_required",
  "agent_not_found",
  "agent_quarantined",
  "event_log_not_found",
  "event_log_entry_not_found",
  "time_range_too_wide",
  "device_offline",
  "device_timeout",
  "device_error",
  "device_busy",
  "webhook_not_found",
  "delivery_not_found",
  "replay_not_found",
  "portal_link_not_found",
  "audit_stream_not_found",
  "dead_letter_not_found",
  "delivery_not_failed",
  "delivery_not_ended",
  "event_not_found",
  "event_type_not_found",
  "event_type_exists",
  "invalid_webhook_url",
  "unknown_event_type",
  "sso_not_configured",
  "sso_provider_not_found",
  "sso_domain_not_found",
  "sso_attempt_not_found",
  "sso_incomplete_provider",
  "sso_discovery_failed",
  "sso_required",
  "invalid_exchange_code",
  "invalid_user_code",
  "authorization_pending",
  "slow_down",
  "expired_token",
  "access_denied",
  "domain_taken",
  "domain_not_allowed",
  "saml_metadata_invalid",
  "last_sign_in_method",
  "directory_not_found",
  "directory_token_invalid",
  "directory_paused",
  "managed_by_directory",
  "scim_invalid",
  "scim_uniqueness",
  "scim_resource_not_found",
  "scim_version_mismatch",
  "agent_version_not_found",
  "rollout_not_found",
  "rollout_template_not_found",
  "release_source_not_found",
  "release_exists",
  "release_in_use",
  "rollout_not_running",
  "rollout_over_threshold",
  "rollback_note_required",
  "release_untrusted",
  "release_sync_failed",
  "rate_limited",
  "log_quota_exceeded",
  "overloaded",
  "unavailable",
  "deadline_exceeded",
  "cancelled",
  "internal",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export type ErrorOptions = {
  cause?: unknown;
  /** Public facts about the failure, shown next to the code (`limit`, `required`, `details` …). */
  facts?: Record<string, unknown>;
  /** Seconds after which a repeat makes sense. */
  retryAfterSeconds?: number;
};

/** The one typed error: a stable code and a public text for the caller, a cause for the log. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly facts: Record<string, unknown>;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, publicMessage: string, options: ErrorOptions = {}) {
    super(publicMessage, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.facts = options.facts ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

export type FieldErrors = Record<string, string[]>;

/** 400 with one text per field, in the shape of docs/behaviour.md#errors. */
export function validationError(fieldErrors: FieldErrors, formErrors: string[] = []): AppError {
  return new AppError("validation_failed", "Validation failed", { facts: { details: { formErrors, fieldErrors } } });
}

/** 400 for a body that is no JSON (RFC 8259). */
export function invalidJson(): AppError {
  return new AppError("invalid_json", "Request body is not valid JSON");
}

/** The session behind a credential has ended: gateway and identity return the same error. */
export function sessionEnded(): AppError {
  return new AppError("session_revoked", "Session has ended");
}

export function isErrorCode(value: string): value is ErrorCode {
  return errorCodes.some((code) => code === value);
}
