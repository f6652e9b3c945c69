import type { ServerResponse } from "node:http";
import type { CallOptions } from "@connectrpc/connect";
import { type RequestMeta, systemCaller } from "@muster/kit";
import { callOptions } from "@muster/rpc";
import { deadlinesMs } from "../route/route.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";

/** The caller of calls that precede authentication. */
const gatewayCaller = systemCaller("gateway");

/** Makes the options of each call that is made for a request. */
export function rpcOf(options: ExchangeOptions, exchange: Exchange): () => Promise<CallOptions> {
  const { session, idempotencyKey } = exchange;
  let shared: { meta: RequestMeta; signal: AbortSignal } | null = null;
  return async () => {
    shared ??= { meta: { ...metaOf(options, exchange), idempotencyKey }, signal: signalOf(exchange.response) };
    const caller = session?.caller ?? gatewayCaller;
    const deadlineMs = exchange.startedMs + deadlinesMs[exchange.served.row.deadline ?? "default"];
    return callOptions({ caller, deadlineMs, ...shared });
  };
}

/** All metadata sent upstream besides the caller: listed here, and never copied from the request as a whole. */
export function metaOf(options: ExchangeOptions, { request, inbound, requestId }: Exchange): RequestMeta {
  return {
    requestId,
    clientAddress: options.clientAddress(request.socket.remoteAddress, inbound),
    userAgent: inbound.userAgent,
    // Traces start here: a client's sampling decision does not count.
    traceparent: null,
  };
}

/**
 * Aborted when the client disconnects before its reply, and after a reply to HEAD, whose body nobody reads: a stream
 * from a service would take one of the slots of its connection until the deadline.
 */
function signalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished || response.req.method === "HEAD") controller.abort();
  });
  return controller.signal;
}
