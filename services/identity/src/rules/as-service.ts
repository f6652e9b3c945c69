import { type Caller, type RequestMeta, systemCaller, uuidv7 } from "@muster/kit";

/** Identity itself, for what it does without a request. */
export function asService(): { caller: Caller; meta: RequestMeta } {
  const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
  return { caller: systemCaller("identity"), meta };
}
