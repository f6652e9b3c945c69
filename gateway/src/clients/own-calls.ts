import type { CallOptions } from "@connectrpc/connect";
import { activeTracer, systemCaller, unsampledTraceparent, uuidv7 } from "@muster/kit";
import { callOptions, toAppError } from "@muster/rpc";
import { unavailable } from "../errors.ts";

const gatewayCaller = systemCaller("gateway");

/**
 * Options of a call that the gateway makes in its own name, with the client's address when the call concerns a client.
 * Outside of a request (a heartbeat of a lease each second) it begins no sampled trace; failed ones are kept.
 */
export async function ownCall(timeoutMs: number, clientAddress: string | null = null): Promise<CallOptions> {
  const traceparent = activeTracer() ? unsampledTraceparent() : null;
  const meta = { requestId: uuidv7(), clientAddress, userAgent: null, traceparent };
  return callOptions({ caller: gatewayCaller, meta, deadlineMs: performance.now() + timeoutMs });
}

/** The typed error of such a call: a service that refuses the gateway, or is slow, is never an error of the client. */
export function rethrow(thrown: unknown): never {
  const error = toAppError(thrown);
  const isOurs =
    error.code === "unauthenticated" || error.code === "permission_denied" || error.code === "deadline_exceeded";
  if (!isOurs) throw error;
  throw unavailable(error);
}
