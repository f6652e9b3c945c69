import { AppError, messageOf } from "@muster/kit";
import { ErrorCode, NatsError } from "nats";

/** JetStream's error numbers that mean "there is no such thing": stream, consumer, message. */
const missingStream = 10059;
const missingConsumer = 10014;
const missingMessage = 10037;

export function isPermissionViolation(error: unknown): boolean {
  return error instanceof NatsError && error.code === ErrorCode.PermissionsViolation;
}

export function isMissing(error: unknown, what: "stream" | "consumer" | "message"): boolean {
  if (!(error instanceof NatsError) || !error.api_error) return false;
  const wanted = { stream: missingStream, consumer: missingConsumer, message: missingMessage }[what];
  return error.api_error.err_code === wanted;
}

/** Whether nobody answered a request: servers before NATS 2.11 do not report whether its subject has a subscriber. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof NatsError && (error.code === ErrorCode.NoResponders || error.code === ErrorCode.Timeout);
}

/** Reason as text that a log line or `/readyz?verbose` can show; the text of NATS errors is only their code. */
export function describe(error: unknown): string {
  if (isPermissionViolation(error)) return `refused by the permission file (${messageOf(error)})`;
  if (error instanceof NatsError && error.code === ErrorCode.NoResponders)
    return "no stream takes it, or JetStream is away";
  if (error instanceof NatsError && error.code === ErrorCode.Timeout) return "no answer in time";
  return error instanceof Error ? error.message : String(error);
}

/** The typed error of a failed NATS operation: `permission_denied` and `validation_failed` never heal by a repeat. */
export function busError(what: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const text = `${what}: ${describe(cause)}`;
  if (isPermissionViolation(cause)) return new AppError("permission_denied", text, { cause });
  if (cause instanceof NatsError && cause.code === ErrorCode.MaxPayloadExceeded) {
    return new AppError("validation_failed", text, { cause });
  }
  return new AppError("unavailable", text, { cause, retryAfterSeconds: 1 });
}

/** Whether a handler failed only because a dependency was unavailable: such failures never dead-letter a message. */
export function isTemporary(error: unknown): boolean {
  return error instanceof AppError && (error.code === "unavailable" || error.code === "overloaded");
}
