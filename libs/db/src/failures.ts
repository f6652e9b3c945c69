import { AppError } from "@muster/kit";

type Coded = { code?: unknown; constraint?: unknown; message?: unknown };

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
  "53300", // too_many_connections
]);

// pg gives these no code.
const lostConnectionText =
  /^(Cannot use a pool after calling end|Connection terminated|timeout expired|Client has encountered a connection error|Client was closed|server closed)/;

/** Whether the database could not be reached or went away, as opposed to refusing a statement. */
export function isConnectionFailure(error: unknown): boolean {
  const { code, message } = (error ?? {}) as Coded;
  if (typeof code === "string" && (lostConnection.has(code) || code.startsWith("08"))) return true;
  // One error per address that a name resolves to.
  if (Array.isArray((error as Partial<AggregateError> | null)?.errors)) {
    return (error as AggregateError).errors.some(isConnectionFailure);
  }
  return typeof message === "string" && lostConnectionText.test(message);
}

/** Whether a unique index (that of `constraint`, when named) refused the statement. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const known = (error ?? {}) as Coded;
  return known.code === "23505" && (constraint === undefined || known.constraint === constraint);
}

/** Serialization failure or deadlock: the same transaction may succeed when run again. */
export function isRepeatable(error: unknown): boolean {
  const { code } = (error ?? {}) as Coded;
  return code === "40001" || code === "40P01";
}

/**
 * What a caller is told: `overloaded` when the pool stayed full, `unavailable` when the database is away or undid
 * the transaction in favour of another, `deadline_exceeded` when the statement ran out of time; any other error is
 * returned as it is. The cause is kept.
 */
export function publicFailure(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const { code, message } = (error ?? {}) as Coded;
  if (message === "timeout exceeded when trying to connect") {
    return new AppError("overloaded", "The service is overloaded", { cause: error, retryAfterSeconds: 1 });
  }
  if (isConnectionFailure(error)) return unavailable(error);
  if (isRepeatable(error)) return unavailable(error);
  if (code === "57014") return deadlineExceeded(error);
  return error;
}

export function unavailable(cause: unknown): AppError {
  return new AppError("unavailable", "The service is temporarily unavailable", { cause, retryAfterSeconds: 1 });
}

export function deadlineExceeded(cause?: unknown): AppError {
  return new AppError("deadline_exceeded", "The request took too long", { cause });
}
