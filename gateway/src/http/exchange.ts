import type { IncomingMessage, ServerResponse } from "node:http";
import type { CallOptions } from "@connectrpc/connect";
import { AppError, type RequestMeta, systemCaller } from "@muster/kit";
import { callOptions, toAppError } from "@muster/rpc";
import type { AgentRates } from "../auth/agent-rates.ts";
import { type AccessRules, type Authenticate, checkAccess, checkOwnId } from "../auth/authenticate.ts";
import type { Rate } from "../auth/rate-bucket.ts";
import type { RateLimiter } from "../auth/rate-limit.ts";
import type { NoteRefusal } from "../auth/refusals.ts";
import type { Deps } from "../deps.ts";
import { EdgeError } from "../errors.ts";
import { type Access, type Credential, deadlinesMs, defaultBodyLimitBytes, type RouteRequest } from "../route.ts";
import type { AddressRates } from "./address-rates.ts";
import { checkAnnouncedLength, readForm, readJson } from "./body.ts";
import type { ClientAddressRule } from "./client-address.ts";
import { cookieOf } from "./cookies.ts";
import type { Inbound } from "./headers.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import type { Pacer } from "./pacing.ts";
import { parseQuery } from "./query.ts";
import type { Served } from "./route-table.ts";
import type { Shedder } from "./shedding.ts";
import { validate } from "./validate.ts";

export type ExchangeOptions = {
  deps: Deps;
  authenticate: Authenticate;
  rates: Pick<RateLimiter, "count">;
  shedder: Pick<Shedder, "enter" | "enterOrganization" | "enterAgent" | "leave" | "leaveAgent">;
  pacer: Pacer;
  /** Requests an hour of one session. */
  sessionRateLimit: number;
  agentRates: AgentRates;
  addressRates: AddressRates;
  accessRules: AccessRules;
  noteRefusal: NoteRefusal;
  clientAddress: ClientAddressRule;
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
  /** Set once the caller is authenticated and the request counted. */
  rate: Rate | null;
  /** The organization whose share of the request's class it takes. */
  placeOf: string | null;
  /** The agent among whose requests it is counted; null before and for all others. */
  placeOfAgent: string | null;
};

/** The caller of what must be asked before anyone is authenticated. */
const gatewayCaller = systemCaller("gateway");
const nothing = Object.freeze({});
const noBytes = new Uint8Array(0);
const noteTimeoutMs = 5_000;

/**
 * Runs a row: 401, 429, 503 for an organization that holds its share, 403, 400, then its handler (order of 01-conventions, "Errors"). Resolves with the handler's result; throws
 * AppError and EdgeError.
 */
export async function runRow(options: ExchangeOptions, exchange: Exchange): Promise<unknown> {
  const { request, response, inbound, served } = exchange;
  const { row } = served;
  const bodyLimit = row.bodyLimitBytes ?? defaultBodyLimitBytes;
  checkAnnouncedLength(request, bodyLimit);
  if (row.perAddressPerMinute !== undefined) {
    const address = options.clientAddress(request.socket.remoteAddress, inbound);
    options.addressRates.count(row.perAddressPerMinute, served.route, address);
  }

  let session: Credential | null = null;
  if (isAuthenticated(row.access, inbound)) {
    const found = options.authenticate(inbound, request);
    session = found instanceof Promise ? await found : found;
    const counted = countRequest(options, session);
    exchange.rate = counted instanceof Promise ? await counted : counted;
    if (!exchange.rate.admitted) {
      const { afterSeconds } = exchange.rate;
      throw new AppError("rate_limited", "Rate limit exceeded", { retryAfterSeconds: afterSeconds });
    }
    const { orgId } = session.caller;
    if (session.kind === "agent") {
      options.shedder.enterAgent(session.id);
      exchange.placeOfAgent = session.id;
    }
    if (orgId !== null) {
      options.shedder.enterOrganization(served.load, orgId);
      exchange.placeOf = orgId;
    }
    try {
      checkAccess(row.access, session, options.accessRules, options.now);
    } catch (refusal) {
      noteRefusal(options, exchange, session, refusal);
      throw refusal;
    }
  }
  const idempotencyKey = idempotencyKeyOf(row, inbound);
  if (row.paced) {
    const turn = options.pacer.turn(options.clientAddress(request.socket.remoteAddress, inbound), response);
    if (turn !== null) await turn;
  }
  const params = row.params ? validate(row.params, exchange.rawParams) : nothing;
  if (session?.kind === "agent") checkOwnId(session, params);
  const query = row.query ? validate(row.query, parseQuery(exchange.query)) : nothing;
  let body: unknown;
  let bodyBytes: Uint8Array = noBytes;
  if (row.method !== "GET") {
    const read = row.form
      ? await readForm(request, response, inbound, bodyLimit)
      : await readJson(request, response, inbound, bodyLimit, row.gzip ?? row.access.auth === "agent");
    bodyBytes = read.bytes;
    if (row.body) body = validate(row.body, read.value);
  }
  const routeRequest: RouteRequest = {
    session: session as never,
    params,
    query,
    body,
    bodyBytes,
    cookie: row.cookie === undefined ? null : cookieOf(inbound.cookie, row.cookie),
    conditions: () => inbound,
    rpc: rpcOf(options, exchange, session, idempotencyKey),
    meta: () => metaOf(options, exchange),
  };
  try {
    const result = row.handle(routeRequest, options.deps);
    return result instanceof Promise ? await result : result;
  } catch (thrown) {
    throw publicError(thrown);
  }
}

function isAuthenticated({ auth }: Access, { authorization, apiKey }: Inbound): boolean {
  return auth === "optional" ? authorization !== null || apiKey !== null : auth !== "none";
}

/** Counts before anything else is judged: a request that is refused afterwards was made, too. */
function countRequest(options: ExchangeOptions, credential: Credential): Rate | Promise<Rate> {
  const { rates, sessionRateLimit, agentRates } = options;
  switch (credential.kind) {
    case "key": {
      const { id, rateLimit, generation } = credential.record;
      return rates.count({ kind: "key", id, limit: rateLimit, generation });
    }
    case "agent":
      return agentRates.count(credential.id);
    case "session":
      return rates.count({ kind: "session", id: credential.id, limit: sessionRateLimit, generation: 0 });
    default:
      return credential satisfies never;
  }
}

/** What a handler's failure means outside. */
function publicError(thrown: unknown): AppError | EdgeError {
  if (thrown instanceof EdgeError) return thrown;
  const error = toAppError(thrown);
  // A service that refuses our own caller token is a fault inside: the client's session is fine, and must not be thrown away.
  if (thrown instanceof AppError || error.code !== "unauthenticated") return error;
  return new AppError("unavailable", "Service is temporarily unavailable", { cause: error, retryAfterSeconds: 1 });
}

/** A change refused to somebody who is known is for the audit trail; their answer does not wait for it. */
function noteRefusal(options: ExchangeOptions, exchange: Exchange, credential: Credential, error: unknown): void {
  const { refusedAs } = exchange.served.row;
  if (refusedAs === undefined || !(error instanceof AppError)) return;
  if (!["permission_denied", "mfa_required", "user_session_required", "scope_not_allowed"].includes(error.code)) return;
  const id = exchange.rawParams.id ?? "";
  const meta = { ...metaOf(options, exchange), idempotencyKey: null };
  const rpc = async () => {
    return callOptions({ caller: credential.caller, meta, deadlineMs: performance.now() + noteTimeoutMs });
  };
  options.noteRefusal({ action: refusedAs, id, credential, error, rpc });
}

function rpcOf(
  options: ExchangeOptions,
  exchange: Exchange,
  session: Credential | null,
  idempotencyKey: string | null,
): () => Promise<CallOptions> {
  let shared: { meta: RequestMeta; signal: AbortSignal } | null = null;
  return async () => {
    shared ??= { meta: { ...metaOf(options, exchange), idempotencyKey }, signal: signalOf(exchange.response) };
    const caller = session?.caller ?? gatewayCaller;
    const deadlineMs = exchange.startedMs + deadlinesMs[exchange.served.row.deadline ?? "default"];
    return callOptions({ caller, deadlineMs, ...shared });
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
