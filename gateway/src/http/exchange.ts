import type { IncomingMessage, ServerResponse } from "node:http";
import type { CallOptions } from "@connectrpc/connect";
import { AppError, type Caller, clientNetwork, type RequestMeta, systemCaller } from "@muster/kit";
import { callOptions, toAppError } from "@muster/rpc";
import type { AgentRates } from "../auth/agent-rates.ts";
import { type AccessRules, type Authenticate, checkAccess, checkOwnId } from "../auth/authenticate.ts";
import type { Credential } from "../auth/credential.ts";
import type { Rate } from "../auth/rate-bucket.ts";
import type { RateLimiter } from "../auth/rate-limit.ts";
import type { NoteRefusal } from "../auth/refusals.ts";
import type { Deps } from "../deps.ts";
import { EdgeError } from "../errors.ts";
import type { ClientAddressRule } from "../inbound/client-address.ts";
import type { Inbound } from "../inbound/headers.ts";
import { type Access, deadlinesMs, defaultBodyLimitBytes, type RouteRequest } from "../route.ts";
import type { AddressRates } from "./address-rates.ts";
import type { Bodies } from "./bodies.ts";
import { checkAnnouncedLength, checkBodyHead, emptyBody, hasBody, readForm, readJson } from "./body.ts";
import { cookieOf } from "./cookies.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import type { Pacer } from "./pacing.ts";
import { parseQuery } from "./query.ts";
import type { Served } from "./route-table.ts";
import { isSameOrigin } from "./same-origin.ts";
import type { Sharer, Shedder } from "./shedding.ts";
import { validate, validateBody, withField } from "./validate.ts";

export type ExchangeOptions = {
  deps: Deps;
  authenticate: Authenticate;
  rates: Pick<RateLimiter, "count">;
  shedder: Pick<Shedder, "enter" | "enterShare" | "enterAgent" | "leave" | "leaveAgent">;
  bodies: Pick<Bodies, "receive" | "inflate">;
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
  /** Whether it holds a place of its class now, and whose share of the class that is. */
  hasPlace: boolean;
  shareOf: string | null;
  /** The agent among whose requests it is counted; null before and for all others. */
  placeOfAgent: string | null;
};

/** The caller of what must be asked before anyone is authenticated. */
const gatewayCaller = systemCaller("gateway");
const nothing = Object.freeze({});
const noBytes = new Uint8Array(0);
const noteTimeoutMs = 5_000;

/**
 * Runs a row: 503, 401, 429, 503 for those whose share is taken, 403, 400, then its handler. Its body is received before it keeps a place. Resolves
 * with the handler's result; throws AppError and EdgeError.
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

  takePlace(options, exchange);
  let session: Credential | null = null;
  if (isAuthenticated(row.access, inbound)) {
    const found = options.authenticate(inbound, request);
    session = found instanceof Promise ? await whileUnknown(options, exchange, found) : found;
    const counted = countRequest(options, session);
    exchange.rate = counted instanceof Promise ? await counted : counted;
    if (!exchange.rate.admitted) {
      const { afterSeconds } = exchange.rate;
      throw new AppError("rate_limited", "Rate limit exceeded", { retryAfterSeconds: afterSeconds });
    }
    if (session.kind === "agent") {
      options.shedder.enterAgent(session.id);
      exchange.placeOfAgent = session.id;
    }
    takeShare(options, exchange, session.caller);
    try {
      checkAccess(row.access, session, options.accessRules, options.now);
    } catch (refusal) {
      noteRefusal(options, exchange, session, refusal);
      throw refusal;
    }
  } else takeShare(options, exchange, null);
  const idempotencyKey = idempotencyKeyOf(row, inbound);
  const params = row.params ? validate(row.params, exchange.rawParams) : nothing;
  if (session?.kind === "agent") checkOwnId(session, params);
  const query = row.query ? validate(row.query, parseQuery(exchange.query)) : nothing;
  const sent = row.method === "GET" ? null : await receiveBody(options, exchange, session, bodyLimit);
  if (row.paced) {
    const turn = options.pacer.turn(options.clientAddress(request.socket.remoteAddress, inbound), response);
    if (turn !== null) await turn;
  }
  let body: unknown;
  let bodyBytes: Uint8Array = noBytes;
  if (row.method !== "GET") {
    const read = sent === null ? emptyBody : row.form ? readForm(sent) : readJson(sent);
    bodyBytes = read.bytes;
    body = validateBody(row, read.value, parseQuery(exchange.query));
  }
  const routeRequest: RouteRequest = {
    session: session as never,
    params,
    query,
    body,
    bodyBytes,
    cookie: cookieFor(options, exchange),
    conditions: () => inbound,
    sameOrigin: () => isSameOrigin(inbound),
    rpc: rpcOf(options, exchange, session, idempotencyKey),
    meta: () => metaOf(options, exchange),
  };
  try {
    const result = row.handle(routeRequest, options.deps);
    return result instanceof Promise ? await result : result;
  } catch (thrown) {
    const error = publicError(thrown);
    throw error instanceof AppError ? withField(error, row) : error;
  }
}

/** The value of the cookie that the row names; null for rows that name none. */
function cookieFor({ deps }: ExchangeOptions, { inbound, served }: Exchange): string | null {
  const { cookie } = served.row;
  return cookie === undefined ? null : cookieOf(inbound.cookie, typeof cookie === "string" ? cookie : cookie(deps));
}

/** Takes a place of the row's class. Throws AppError `overloaded`. */
function takePlace({ shedder }: ExchangeOptions, exchange: Exchange): void {
  shedder.enter(exchange.served.load);
  exchange.hasPlace = true;
}

/** Takes it from the share of whom the request is for. Throws AppError `overloaded`. */
function takeShare(options: ExchangeOptions, exchange: Exchange, caller: Caller | null): void {
  if (exchange.served.load === "vital") return;
  const owner = ownerOf(options, exchange, caller);
  takeShareOf(options, exchange, owner, caller === null ? "network" : "organization");
}

function takeShareOf({ shedder }: ExchangeOptions, exchange: Exchange, owner: string, who: Sharer): void {
  shedder.enterShare(exchange.served.load, owner, who);
  exchange.shareOf = owner;
}

/** Gives back the place of the class; what has none is unharmed. */
function leavePlace({ shedder }: ExchangeOptions, exchange: Exchange): void {
  if (exchange.hasPlace) shedder.leave(exchange.served.load, exchange.shareOf);
  exchange.hasPlace = false;
  exchange.shareOf = null;
}

/** Gives back all that a request holds. */
export function leavePlaces(options: ExchangeOptions, exchange: Exchange): void {
  leavePlace(options, exchange);
  if (exchange.placeOfAgent !== null) options.shedder.leaveAgent(exchange.placeOfAgent);
  exchange.placeOfAgent = null;
}

/** Whose share it is: the organization's, else the partner's or the person's of the platform; of those not signed in, the network's. */
function ownerOf(options: ExchangeOptions, exchange: Exchange, caller: Caller | null): string {
  return caller === null ? networkOf(options, exchange) : (caller.orgId ?? caller.partnerId ?? caller.actor.id);
}

export function networkOf({ clientAddress }: ExchangeOptions, { request, inbound }: Exchange): string {
  return clientNetwork(clientAddress(request.socket.remoteAddress, inbound));
}

/** Until a credential is known its request counts to those of its network that are not known either. */
async function whileUnknown(
  options: ExchangeOptions,
  exchange: Exchange,
  found: Promise<Credential>,
): Promise<Credential> {
  // Refused for its share, the request no longer cares what the credential is.
  found.catch(() => undefined);
  takeShareOf(options, exchange, `unknown of ${networkOf(options, exchange)}`, "network");
  const credential = await found;
  leavePlace(options, exchange);
  takePlace(options, exchange);
  return credential;
}

/** The bytes of the request's body, inflated; while it comes the request holds no place. Null when there is none. */
async function receiveBody(
  options: ExchangeOptions,
  exchange: Exchange,
  session: Credential | null,
  limitBytes: number,
): Promise<Buffer | null> {
  const { request, response, inbound, served } = exchange;
  if (!hasBody(request)) return null;
  const { form: isForm = false, gzip, access } = served.row;
  const { isGzip } = checkBodyHead(inbound, { isForm, takesGzip: gzip ?? access.auth === "agent" });
  const caller = session?.caller ?? null;
  leavePlace(options, exchange);
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  const owner = ownerOf(options, exchange, caller);
  const sent = await options.bodies.receive(request, owner, limitBytes);
  const bytes = isGzip ? await options.bodies.inflate(sent, owner, limitBytes) : sent;
  takePlace(options, exchange);
  takeShare(options, exchange, caller);
  return bytes;
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
  const { audit, auditsRefusals } = exchange.served.row;
  if (!auditsRefusals || audit === undefined || !(error instanceof AppError)) return;
  if (!["permission_denied", "mfa_required", "user_session_required", "scope_not_allowed"].includes(error.code)) return;
  const id = exchange.rawParams.id ?? "";
  const meta = { ...metaOf(options, exchange), idempotencyKey: null };
  const rpc = async () => {
    return callOptions({ caller: credential.caller, meta, deadlineMs: performance.now() + noteTimeoutMs });
  };
  options.noteRefusal({ action: audit, id, credential, error, rpc });
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
