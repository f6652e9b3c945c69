import type { IncomingMessage, ServerResponse } from "node:http";
import type { CallOptions } from "@connectrpc/connect";
import { AppError, type Caller, type RequestMeta, systemCaller } from "@muster/kit";
import { callOptions, toAppError } from "@muster/rpc";
import { type AccessRules, type Authenticate, checkAccess } from "../auth/authenticate.ts";
import type { Deps } from "../deps.ts";
import { deadlinesMs, defaultBodyLimitBytes, type RouteRequest, type Session } from "../route.ts";
import { checkAnnouncedLength, readJson } from "./body.ts";
import type { ClientAddressRule } from "./client-address.ts";
import type { Inbound } from "./headers.ts";
import { parseQuery } from "./query.ts";
import type { Served } from "./route-table.ts";
import { validate } from "./validate.ts";

export type ExchangeOptions = {
  deps: Deps;
  authenticate: Authenticate;
  accessRules: AccessRules;
  clientAddress: ClientAddressRule;
  tokenFor(caller: Caller): Promise<string>;
  /** Milliseconds since 1970. */
  now: () => number;
};

/** One request that has found its row. */
export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  inbound: Inbound;
  served: Served;
  rawParams: Record<string, string | undefined>;
  query: string;
  requestId: string;
  startedMs: number;
};

/** The caller of what must be asked before anyone is authenticated. */
const gatewayCaller = systemCaller("gateway");
const nothing = Object.freeze({});

/**
 * Runs a row: 401, 403, 400, then its handler (order of 01-conventions, "Errors"). Resolves with the handler's result; throws
 * AppError and EdgeError.
 */
export async function runRow(options: ExchangeOptions, exchange: Exchange): Promise<unknown> {
  const { request, response, inbound, served } = exchange;
  const { row } = served;
  const bodyLimit = row.bodyLimitBytes ?? defaultBodyLimitBytes;
  checkAnnouncedLength(request, bodyLimit);

  let session: Session | null = null;
  if (row.access.auth === "session" || (row.access.auth === "optional" && inbound.authorization !== null)) {
    const found = options.authenticate(inbound.authorization);
    session = found instanceof Promise ? await found : found;
    checkAccess(row.access, session, options.accessRules, options.now);
  }
  const params = row.params ? validate(row.params, exchange.rawParams) : nothing;
  const query = row.query ? validate(row.query, parseQuery(exchange.query)) : nothing;
  let body: unknown;
  if (row.method !== "GET") {
    const json = await readJson(request, response, inbound, bodyLimit);
    if (row.body) body = validate(row.body, json);
  }
  const routeRequest: RouteRequest = {
    session: session as never,
    params,
    query,
    body,
    rpc: rpcOf(options, exchange, session),
  };
  try {
    const result = row.handle(routeRequest, options.deps);
    return result instanceof Promise ? await result : result;
  } catch (thrown) {
    throw publicError(thrown);
  }
}

/** What a handler's failure means outside. */
function publicError(thrown: unknown): AppError {
  const error = toAppError(thrown);
  // A service that refuses our own caller token is a fault inside: the client's session is fine, and must not be thrown away.
  if (thrown instanceof AppError || error.code !== "unauthenticated") return error;
  return new AppError("unavailable", "Service is temporarily unavailable", { cause: error, retryAfterSeconds: 1 });
}

function rpcOf(options: ExchangeOptions, exchange: Exchange, session: Session | null): () => Promise<CallOptions> {
  let shared: { meta: RequestMeta; signal: AbortSignal } | null = null;
  return async () => {
    shared ??= { meta: metaOf(options, exchange), signal: signalOf(exchange.response) };
    const callerToken = await options.tokenFor(session?.caller ?? gatewayCaller);
    const deadlineMs = exchange.startedMs + deadlinesMs[exchange.served.row.deadline ?? "default"];
    return callOptions({ callerToken, deadlineMs, ...shared });
  };
}

/** Everything that goes upstream beside the caller: named here, nothing is copied from the request by itself. */
function metaOf(options: ExchangeOptions, { request, inbound, requestId }: Exchange): RequestMeta {
  return {
    requestId,
    clientAddress: options.clientAddress(request.socket.remoteAddress, inbound),
    userAgent: inbound.userAgent,
    // Traces begin here: a stranger's sampling decision is not ours.
    traceparent: null,
  };
}

/** Aborted when the client leaves before its reply. */
function signalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
