import { type CallOptions, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import { AppError, type Caller, type RequestMeta } from "@muster/kit";

/** Names of the metadata that our calls carry besides the protocol's own. */
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

/** The caller, for a transport that mints the token for its own service. */
export const callerKey = createContextKey<Caller | null>(null, { description: "caller of an RPC" });
const valuesOf = new WeakMap<Caller, ContextValues>();

/**
 * Options for one call: its caller (or their token for that service), request metadata, and the remaining time until
 * `deadlineMs` (performance.now() clock, null leaves the transport's default) minus 20 ms. Throws `deadline_exceeded`
 * when less than 20 ms are left.
 */
export function callOptions(call: {
  caller: Caller | { token: string };
  meta: RequestMeta;
  deadlineMs: number | null;
  signal?: AbortSignal;
}): CallOptions & { headers: Record<string, string> } {
  const { meta } = call;
  const headers: Record<string, string> = {
    [metadataNames.requestId]: headerText(meta.requestId),
  };
  if ("token" in call.caller) headers[metadataNames.caller] = call.caller.token;
  if (meta.clientAddress !== null) headers[metadataNames.clientAddress] = headerText(meta.clientAddress);
  if (meta.userAgent !== null) headers[metadataNames.userAgent] = headerText(meta.userAgent.slice(0, maxUserAgent));
  if (meta.traceparent !== null) headers[metadataNames.traceparent] = meta.traceparent;
  if (meta.idempotencyKey != null) headers[metadataNames.idempotencyKey] = headerText(meta.idempotencyKey);
  return {
    headers,
    ...("token" in call.caller ? {} : { contextValues: contextValuesOf(call.caller) }),
    ...(call.deadlineMs === null ? {} : { timeoutMs: timeoutUntil(call.deadlineMs) }),
    ...(call.signal ? { signal: call.signal } : {}),
  };
}

function contextValuesOf(caller: Caller): ContextValues {
  const values = valuesOf.get(caller) ?? createContextValues().set(callerKey, caller);
  valuesOf.set(caller, values);
  return values;
}

function timeoutUntil(deadlineMs: number): number {
  const leftMs = deadlineMs - performance.now();
  if (leftMs < hopMs) throw new AppError("deadline_exceeded", "Deadline exceeded");
  // 0 would mean "no timeout" to a transport.
  return Math.max(1, Math.floor(leftMs - hopMs));
}

/** A header may hold Latin-1 without control characters; user agents hold whatever clients send. */
function headerText(value: string): string {
  return /^[\t\x20-\x7e\xa0-\xff]*$/.test(value) ? value : value.replace(/[^\t\x20-\x7e\xa0-\xff]/g, "?");
}
