import { AppError, codeOf, fieldsOf, messageOf } from "@muster/kit";
import { isTlsFailure } from "./endpoint.ts";

const lostConnection = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT", // the socket file of a server that is not running
  "57P01", // admin_shutdown
  "57P02", // crash_shutdown
  "57P03", // cannot_connect_now: starting up, shutting down, recovering
  "57P05", // idle_session_timeout
  "53300", // too_many_connections
  "25006", // read_only_sql_transaction: the primary of before is a standby now
]);

/** The server is out of disk, of memory, or of a limit of its configuration: nothing was done, and later it may be. */
const exhausted = new Set(["53100", "53200", "53400"]);

/** Codes that concern new connections only: existing ones may be fine. */
const aboutNewConnections = new Set(["53300", "57P03", "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

// pg's errors with these texts have no code.
const lostConnectionText =
  /^(Cannot use a pool after calling end|Connection terminated|timeout expired|Client has encountered a connection error|Client was closed|server closed)/;

/** Whether the database could not be reached or went away, as opposed to refusing a statement. */
export function isConnectionFailure(error: unknown): boolean {
  const code = codeOf(error);
  if (lostConnection.has(code) || code.startsWith("08")) return true;
  if (isTlsFailure(error)) return true;
  // One error per address that a name resolves to.
  if (error instanceof AggregateError) return error.errors.some(isConnectionFailure);
  return lostConnectionText.test(messageOf(error));
}

/** Whether every connection made so far may lead to a server that went away or is no longer the primary. */
export function isServerGone(error: unknown): boolean {
  return isConnectionFailure(error) && !aboutNewConnections.has(codeOf(error));
}

/** Whether a unique index (that of `constraint`, when named) refused the statement. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return codeOf(error) === "23505" && (constraint === undefined || fieldsOf(error).constraint === constraint);
}

/** A write was refused: the transaction is read-only, or the server replays another one's changes. */
export const isReadOnlyRefusal = (error: unknown): boolean => codeOf(error) === "25006";

/** Serialization failure or deadlock: the same transaction may succeed when run again. */
export function isRepeatable(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40001" || code === "40P01";
}

/**
 * The error that a caller receives: `overloaded` when the pool stayed full, `unavailable` when the database is away,
 * has no disk or memory left, or undid the transaction in favour of another, `deadline_exceeded` when the statement ran
 * out of time; any other error is returned as it is. The cause is kept.
 */
export function publicFailure(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const code = codeOf(error);
  if (messageOf(error) === "timeout exceeded when trying to connect") {
    return new AppError("overloaded", "The service is overloaded", { cause: error, retryAfterSeconds: 1 });
  }
  if (isConnectionFailure(error)) return unavailable(error);
  if (isRepeatable(error) || exhausted.has(code)) return unavailable(error);
  if (code === "57014") return deadlineExceeded(error);
  return error;
}

export function unavailable(cause: unknown): AppError {
  return new AppError("unavailable", "The service is temporarily unavailable", { cause, retryAfterSeconds: 1 });
}

export function deadlineExceeded(cause?: unknown): AppError {
  return new AppError("deadline_exceeded", "The request took too long", { cause });
}
