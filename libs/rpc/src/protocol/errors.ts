import { Code, ConnectError } from "@connectrpc/connect";
import { AppError, type ErrorCode, isErrorCode } from "@muster/kit";
import { ErrorInfoSchema } from "@muster/proto/google/rpc/error_details_pb";

const domain = "muster";
/** Key of ErrorInfo.metadata that carries AppError.retryAfterSeconds; a fact may not have this name. */
const retryAfterKey = "retryAfterSeconds";

/** What a gRPC or Connect tool sees for each of our codes. Closed: a new ErrorCode does not compile without a line. */
const connectCodes: Record<ErrorCode, Code> = {
  validation_failed: Code.InvalidArgument,
  invalid_json: Code.InvalidArgument,
  unauthenticated: Code.Unauthenticated,
  token_expired: Code.Unauthenticated,
  session_revoked: Code.Unauthenticated,
  invalid_credentials: Code.Unauthenticated,
  invalid_refresh_token: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  mfa_required: Code.PermissionDenied,
  scope_not_allowed: Code.PermissionDenied,
  user_session_required: Code.PermissionDenied,
  misconfigured_account: Code.PermissionDenied,
  partner_inactive: Code.PermissionDenied,
  organization_inactive: Code.PermissionDenied,
  partner_not_found: Code.NotFound,
  audit_log_not_found: Code.NotFound,
  audit_verification_not_found: Code.NotFound,
  audit_alert_not_found: Code.NotFound,
  audit_export_not_found: Code.NotFound,
  audit_export_not_ready: Code.FailedPrecondition,
  organization_not_found: Code.NotFound,
  site_not_found: Code.NotFound,
  device_not_found: Code.NotFound,
  device_group_not_found: Code.NotFound,
  saved_view_not_found: Code.NotFound,
  bulk_job_not_found: Code.NotFound,
  user_not_found: Code.NotFound,
  role_not_found: Code.NotFound,
  api_key_missing: Code.Unauthenticated,
  api_key_invalid_format: Code.Unauthenticated,
  api_key_invalid: Code.Unauthenticated,
  api_key_revoked: Code.Unauthenticated,
  api_key_expired: Code.Unauthenticated,
  insufficient_scope: Code.PermissionDenied,
  address_not_allowed: Code.PermissionDenied,
  api_key_not_found: Code.NotFound,
  enrollment_key_not_found: Code.NotFound,
  service_principal_not_found: Code.NotFound,
  key_not_active: Code.FailedPrecondition,
  principal_disabled: Code.FailedPrecondition,
  unknown_parameter: Code.InvalidArgument,
  cursor_mismatch: Code.InvalidArgument,
  unknown_scope: Code.InvalidArgument,
  enrollment_key_invalid: Code.Unauthenticated,
  enrollment_key_expired: Code.Unauthenticated,
  enrollment_key_exhausted: Code.Unauthenticated,
  organization_access_denied: Code.PermissionDenied,
  site_access_denied: Code.PermissionDenied,
  partner_access_denied: Code.PermissionDenied,
  site_restricted: Code.PermissionDenied,
  delegation_denied: Code.PermissionDenied,
  partner_context_required: Code.InvalidArgument,
  partner_id_required: Code.InvalidArgument,
  organization_context_required: Code.InvalidArgument,
  no_updates: Code.InvalidArgument,
  invalid_token: Code.InvalidArgument,
  invalid_mfa_code: Code.Unauthenticated,
  invalid_mfa_token: Code.Unauthenticated,
  email_taken: Code.AlreadyExists,
  mfa_already_enabled: Code.FailedPrecondition,
  mfa_not_enabled: Code.FailedPrecondition,
  not_found: Code.NotFound,
  slug_taken: Code.AlreadyExists,
  idempotency_conflict: Code.AlreadyExists,
  limit_reached: Code.FailedPrecondition,
  device_decommissioned: Code.FailedPrecondition,
  device_not_quarantined: Code.FailedPrecondition,
  device_count_changed: Code.FailedPrecondition,
  passkey_not_found: Code.NotFound,
  session_not_found: Code.NotFound,
  invalid_passkey: Code.Unauthenticated,
  user_disabled: Code.FailedPrecondition,
  last_administrator: Code.FailedPrecondition,
  role_in_use: Code.FailedPrecondition,
  role_immutable: Code.FailedPrecondition,
  invitation_accepted: Code.FailedPrecondition,
  name_taken: Code.AlreadyExists,
  agent_token_invalid: Code.Unauthenticated,
  agent_token_revoked: Code.Unauthenticated,
  agent_token_required: Code.PermissionDenied,
  agent_not_found: Code.NotFound,
  agent_quarantined: Code.FailedPrecondition,
  event_log_not_found: Code.NotFound,
  event_log_entry_not_found: Code.NotFound,
  time_range_too_wide: Code.InvalidArgument,
  device_offline: Code.Unavailable,
  device_timeout: Code.DeadlineExceeded,
  device_error: Code.Unavailable,
  device_busy: Code.ResourceExhausted,
  webhook_not_found: Code.NotFound,
  delivery_not_found: Code.NotFound,
  dead_letter_not_found: Code.NotFound,
  replay_not_found: Code.NotFound,
  portal_link_not_found: Code.NotFound,
  audit_stream_not_found: Code.NotFound,
  delivery_not_failed: Code.FailedPrecondition,
  delivery_not_ended: Code.FailedPrecondition,
  event_not_found: Code.NotFound,
  event_type_not_found: Code.NotFound,
  event_type_exists: Code.AlreadyExists,
  invalid_webhook_url: Code.InvalidArgument,
  unknown_event_type: Code.InvalidArgument,
  sso_not_configured: Code.NotFound,
  sso_provider_not_found: Code.NotFound,
  sso_domain_not_found: Code.NotFound,
  directory_not_found: Code.NotFound,
  directory_token_invalid: Code.Unauthenticated,
  directory_paused: Code.Unavailable,
  managed_by_directory: Code.PermissionDenied,
  scim_invalid: Code.InvalidArgument,
  scim_uniqueness: Code.AlreadyExists,
  scim_resource_not_found: Code.NotFound,
  scim_version_mismatch: Code.FailedPrecondition,
  sso_attempt_not_found: Code.NotFound,
  sso_incomplete_provider: Code.FailedPrecondition,
  sso_discovery_failed: Code.Unavailable,
  sso_required: Code.PermissionDenied,
  invalid_exchange_code: Code.InvalidArgument,
  invalid_user_code: Code.InvalidArgument,
  authorization_pending: Code.InvalidArgument,
  slow_down: Code.InvalidArgument,
  expired_token: Code.InvalidArgument,
  access_denied: Code.InvalidArgument,
  domain_taken: Code.AlreadyExists,
  domain_not_allowed: Code.PermissionDenied,
  saml_metadata_invalid: Code.InvalidArgument,
  last_sign_in_method: Code.FailedPrecondition,
  agent_version_not_found: Code.NotFound,
  rollout_not_found: Code.NotFound,
  rollout_template_not_found: Code.NotFound,
  release_source_not_found: Code.NotFound,
  release_exists: Code.AlreadyExists,
  release_in_use: Code.FailedPrecondition,
  rollout_not_running: Code.FailedPrecondition,
  rollout_over_threshold: Code.FailedPrecondition,
  rollback_note_required: Code.InvalidArgument,
  release_untrusted: Code.InvalidArgument,
  release_sync_failed: Code.Unavailable,
  rate_limited: Code.ResourceExhausted,
  log_quota_exceeded: Code.ResourceExhausted,
  overloaded: Code.Unavailable,
  unavailable: Code.Unavailable,
  deadline_exceeded: Code.DeadlineExceeded,
  cancelled: Code.Canceled,
  internal: Code.Internal,
};

/** Codes that a server newer than this client may have refined: the general one is still true. */
const generalCodes: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: "validation_failed",
  [Code.Unauthenticated]: "unauthenticated",
  [Code.PermissionDenied]: "permission_denied",
  [Code.NotFound]: "not_found",
  [Code.FailedPrecondition]: "limit_reached",
  [Code.ResourceExhausted]: "rate_limited",
};

/** The error as it crosses the wire: Connect code, public text, google.rpc.ErrorInfo with code and facts. */
export function toConnectError(error: AppError): ConnectError {
  const metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(error.facts)) {
    const text = JSON.stringify(value);
    if (text !== undefined) metadata[name] = text;
  }
  if (error.retryAfterSeconds !== undefined) metadata[retryAfterKey] = JSON.stringify(error.retryAfterSeconds);
  return new ConnectError(
    error.message,
    connectCodes[error.code],
    undefined,
    [{ desc: ErrorInfoSchema, value: { reason: error.code, domain, metadata } }],
    error,
  );
}

/**
 * The typed error behind whatever a call or a handler threw. Our own errors come back with code, text, facts and
 * retryAfterSeconds; an unreachable server, or one without the method yet, is `unavailable` (repeat after 1 s), a
 * passed deadline `deadline_exceeded`, an abort `cancelled`; anything else is `internal` with the original as cause and
 * nothing of it in the text.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof ConnectError) return fromConnectError(error);
  return new AppError("internal", "Internal error", { cause: error });
}

function fromConnectError(error: ConnectError): AppError {
  // Thrown by toConnectError in this very process.
  if (error.cause instanceof AppError) return error.cause;
  const info = error.findDetails(ErrorInfoSchema).find((detail) => detail.domain === domain);
  if (info) {
    const code = isErrorCode(info.reason) ? info.reason : (generalCodes[error.code] ?? transportCode(error.code));
    const facts = parseFacts(info.metadata);
    const { [retryAfterKey]: retryAfter, ...rest } = facts;
    return new AppError(code, error.rawMessage, {
      facts: rest,
      ...(typeof retryAfter === "number" ? { retryAfterSeconds: retryAfter } : {}),
    });
  }
  switch (transportCode(error.code)) {
    case "unavailable":
      return new AppError("unavailable", "Service is unavailable", { cause: error, retryAfterSeconds: 1 });
    case "deadline_exceeded":
      return new AppError("deadline_exceeded", "Deadline exceeded", { cause: error });
    case "cancelled":
      return new AppError("cancelled", "Cancelled", { cause: error });
    default:
      return new AppError("internal", "Internal error", { cause: error });
  }
}

function transportCode(code: Code): ErrorCode {
  // A server that is older than its caller, while versions are side by side.
  if (code === Code.Unavailable || code === Code.Unimplemented) return "unavailable";
  if (code === Code.DeadlineExceeded) return "deadline_exceeded";
  if (code === Code.Canceled) return "cancelled";
  return "internal";
}

function parseFacts(metadata: Record<string, string>): Record<string, unknown> {
  const facts: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(metadata)) {
    try {
      facts[name] = JSON.parse(text);
    } catch {
      // Not written by us: another server of the ErrorInfo standard puts plain text here.
      facts[name] = text;
    }
  }
  return facts;
}
