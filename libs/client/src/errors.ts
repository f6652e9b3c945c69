import type { components } from "./generated/schema.ts";

/** The body of every error of the API; `network_error` is this client's own, for a request that no answer came to. */
export type ApiError = components["schemas"]["Error"];

/** Thrown where a value cannot be returned: in the middle of an iteration. */
export class MusterError extends Error {
  readonly code: string;
  readonly status: number;
  readonly body: ApiError;

  constructor(status: number, body: ApiError) {
    super(body.error);
    this.name = "MusterError";
    this.code = body.code;
    this.status = status;
    this.body = body;
  }
}

/** The synthetic reply of a request without one, so that callers find every failure in `error`. */
export function unreachable(cause: unknown): Response {
  const error = cause instanceof Error ? cause.message : String(cause);
  const body: ApiError = { error, code: "network_error", requestId: "" };
  return Response.json(body, { status: 503, statusText: "No reply" });
}
