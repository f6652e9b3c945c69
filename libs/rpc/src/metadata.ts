import type { CallOptions } from "@connectrpc/connect";
import { AppError, type RequestMeta } from "@muster/kit";

/** Names of the metadata that our calls carry beside the protocol's own. */
export const metadataNames = {
  caller: "muster-caller",
  requestId: "muster-request-id",
  clientAddress: "muster-client-address",
  userAgent: "muster-user-agent",
  traceparent: "traceparent",
  idempotencyKey: "muster-idempotency-key",
} as const;

/** Milliseconds kept back at each hop, so that the nearer caller learns of the deadline first; a call needs as many. */
const hopMs = 20;
const maxUserAgent = 512;

/**
 * Options for one call: caller token, request metadata, and what is left until `deadlineMs` (performance.now() clock, null
 * leaves the transport's default) minus 20 ms. Throws `deadline_exceeded` when less than 20 ms are left.
 */
export function callOptions(call: {
  callerToken: string;
  meta: RequestMeta;
  deadlineMs: number | null;
  signal?: AbortSignal;
}): CallOptions & { headers: Record<string, string> } {
  const { meta } = call;
  const headers: Record<string, string> = {
    [metadataNames.caller]: call.callerToken,
    [metadataNames.requestId]: headerText(meta.requestId),
  };
  if (meta.clientAddress !== null) headers[metadataNames.clientAddress] = headerText(meta.clientAddress);
  if (meta.userAgent !== null) headers[metadataNames.userAgent] = headerText(meta.userAgent.slice(0, maxUserAgent));
  if (meta.traceparent !== null) headers[metadataNames.traceparent] = meta.traceparent;
  if (meta.idempotencyKey != null) headers[metadataNames.idempotencyKey] = headerText(meta.idempotencyKey);
  return {
    headers,
    ...(call.deadlineMs === null ? {} : { timeoutMs: timeoutUntil(call.deadlineMs) }),
    ...(call.signal ? { signal: call.signal } : {}),
  };
}

function timeoutUntil(deadlineMs: number): number {
  const leftMs = deadlineMs - performance.now();
  if (leftMs < hopMs) throw new AppError("deadline_exceeded", "Deadline exceeded");
  // 0 would mean "no timeout" to a transport.
  return Math.max(1, Math.floor(leftMs - hopMs));
}

/** A header may hold Latin-1 without control characters; user agents hold whatever people send. */
function headerText(value: string): string {
  return /^[\t\x20-\x7e\xa0-\xff]*$/.test(value) ? value : value.replace(/[^\t\x20-\x7e\xa0-\xff]/g, "?");
}
