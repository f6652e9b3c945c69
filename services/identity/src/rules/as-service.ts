import { type Caller, ownMeta, type RequestMeta, systemCaller } from "@muster/kit";

/** Identity itself, for what it does without a request. */
export function asService(): { caller: Caller; meta: RequestMeta } {
  const meta = ownMeta();
  return { caller: systemCaller("identity"), meta };
}
