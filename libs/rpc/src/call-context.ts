import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { AppError, type CallContext, type Caller, type RequestMeta } from "@muster/kit";

/** What the port established about a call before its handler runs. */
export type EstablishedCall = {
  /** Null on the RPCs that need no caller. */
  caller: Caller | null;
  meta: RequestMeta;
  deadlineMs: number | null;
};

export const establishedCall = createContextKey<EstablishedCall | null>(null, { description: "muster call" });

/** The verified caller and metadata of the call being handled; throws `unauthenticated` on an RPC open to nobody. */
export function callContext(context: HandlerContext): CallContext {
  const call = context.values.get(establishedCall);
  if (!call?.caller) throw new AppError("unauthenticated", "Caller is not authenticated");
  return {
    caller: call.caller,
    meta: call.meta,
    deadlineMs: call.deadlineMs,
    // Read on demand: most handlers never look, and an AbortSignal is not free.
    get signal() {
      return context.signal;
    },
  };
}
