import { AppError } from "@muster/kit";
import { bearerToken, checkAccess, checkOwnId } from "../auth/authenticate.ts";
import { isPortalToken } from "../auth/portal-cache.ts";
import type { Rate } from "../auth/rate-bucket.ts";
import { BodyEnds } from "../request/body-ends.ts";
import type { Inbound } from "../request/headers.ts";
import type { Credential } from "../route/credential.ts";
import { type Access, defaultBodyLimitBytes } from "../route/route.ts";
import { overrunBytes } from "./bodies.ts";
import {
  checkAnnouncedLength,
  checkBodyHead,
  checkNumbers,
  emptyBody,
  hasBody,
  opaqueMember,
  readForm,
  readJson,
} from "./body.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { withOwnCursor } from "./list-cursor.ts";
import { parseQuery } from "./query.ts";
import { scimOperation } from "./refused-scim.ts";
import { networkOf, ownerOf, releaseSlot, takeShare, takeShareOf, takeSlot } from "./slots.ts";
import { validate, validateQuery } from "./validate.ts";
import { validateBody } from "./validate-body.ts";

/** Checks a request or finds something out about it; throws AppError or EdgeError. Awaited only when it must wait. */
export type Step = (options: ExchangeOptions, exchange: Exchange) => void | Promise<void>;

const noBytes = new Uint8Array(0);
const bodyLimitOf = ({ served }: Exchange) => served.row.bodyLimitBytes ?? defaultBodyLimitBytes;

/** 413 for a Content-Length beyond the limit. A row with a refusal of its own reads what is a little beyond it. */
export const checkLength: Step = (_options, exchange) => {
  const { refused } = exchange.served.row;
  checkAnnouncedLength(exchange.request, bodyLimitOf(exchange), refused === undefined ? 0 : overrunBytes);
};

/** 429 for an address beyond the limit of a route that counts addresses. */
export const countAddress: Step = ({ clientAddress, addressRates }, { request, inbound, served }) => {
  const { row, route } = served;
  if (row.perAddressPerMinute === undefined) return;
  addressRates.count(row.perAddressPerMinute, route, clientAddress(request.socket.remoteAddress, inbound));
};

/** 401, then 429: identifies the caller and counts the request. Counted before any other check. */
export const identify: Step = (options, exchange) => {
  const { request, inbound, served } = exchange;
  if (!isAuthenticated(served.row.access, inbound)) return undefined;
  const isPortal = isPortalToken(bearerToken(inbound.authorization) ?? "");
  // A portal session finds no directory's route either.
  const isDirectory = served.row.access.auth === "directory" && !isPortal;
  const found = isDirectory
    ? options.directories.get(inbound, scimOperation(exchange))
    : options.authenticate(inbound, request);
  if (found instanceof Promise)
    return whileUnresolved(options, exchange, found).then((one) => count(options, exchange, one));
  return count(options, exchange, found);
};

function count(options: ExchangeOptions, exchange: Exchange, session: Credential): void | Promise<void> {
  exchange.session = session;
  const counted = countRequest(options, session);
  return counted instanceof Promise ? counted.then((rate) => admit(exchange, rate)) : admit(exchange, counted);
}

function admit(exchange: Exchange, rate: Rate): void {
  exchange.rate = rate;
  if (rate.admitted) return;
  throw new AppError("rate_limited", "Rate limit exceeded", { retryAfterSeconds: rate.afterSeconds });
}

/** 503 when the owner's share of the class is full, an agent's own share first. */
export const enterShare: Step = (options, exchange) => {
  const { session } = exchange;
  if (session?.kind === "agent") {
    options.shedder.enterAgent(session.id);
    exchange.slotOfAgent = session.id;
  }
  takeShare(options, exchange, session?.caller ?? null);
};

/** 403 for callers that the route does not permit. */
export const checkCaller: Step = (options, exchange) => {
  const { session, served } = exchange;
  if (session !== null) checkAccess(served.row.access, session, options.accessRules, options.now);
};

/** 400 for parameters, query, cursor and Idempotency-Key; 404 for an agent that names another. */
export const readAddress: Step = (_options, exchange) => {
  const { session, served, inbound } = exchange;
  const { row } = served;
  exchange.idempotencyKey = idempotencyKeyOf(row, inbound);
  if (row.params) exchange.params = validate(row.params, exchange.rawParams);
  if (session?.kind === "agent") checkOwnId(session, exchange.params);
  if (!row.query && exchange.query === "") return;
  exchange.queryValues = withOwnCursor(exchange, validateQuery(row, parseQuery(exchange.query)));
};

/** Receives and inflates the body; meanwhile the request holds no slot. */
export const receiveBody: Step = (options, exchange) => {
  const { request, served } = exchange;
  if (served.row.method === "GET" || !hasBody(request)) return undefined;
  return received(options, exchange);
};

async function received(options: ExchangeOptions, exchange: Exchange): Promise<void> {
  const { request, response, inbound, served, session } = exchange;
  const { form: isForm = false, gzip, access, raw = null } = served.row;
  const { isGzip } = checkBodyHead(inbound, { isForm, takesGzip: gzip ?? access.auth === "agent", raw });
  const caller = session?.caller ?? null;
  const limitBytes = bodyLimitOf(exchange);
  releaseSlot(options, exchange);
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  const owner = ownerOf(options, exchange, caller);
  if (served.row.refused !== undefined) exchange.ends = new BodyEnds();
  const sent = await options.bodies.receive(request, owner, limitBytes, exchange.ends);
  exchange.sent = isGzip ? await options.bodies.inflate(sent, owner, limitBytes) : sent;
  takeSlot(options, exchange);
  takeShare(options, exchange, caller);
}

/** Waits in the queue of rows that start one by one. */
export const waitInQueue: Step = ({ signIns, clientAddress }, { request, response, inbound, served }) => {
  if (!served.row.queued) return undefined;
  return signIns.enter(clientAddress(request.socket.remoteAddress, inbound), response) ?? undefined;
};

/** Waits for earlier requests of the same directory. */
export const waitForDirectory: Step = ({ directorySlots }, exchange) => {
  const { session, response } = exchange;
  if (session?.kind !== "directory") return undefined;
  const started = () => {
    exchange.slotOfDirectory = session.id;
  };
  const waiting = directorySlots.enter(session.id, response);
  return waiting === null ? started() : waiting.then(started);
};

/** 400 for a body that the route does not accept; a raw one is its service's to read. */
export const readBody: Step = (_options, exchange) => {
  const { sent, served, session } = exchange;
  const { row, freeMembers } = served;
  if (row.method === "GET") return;
  if (row.raw !== undefined) {
    exchange.bodyBytes = sent ?? noBytes;
    return;
  }
  const read = sent === null ? emptyBody : row.form ? readForm(sent) : readJson(sent);
  exchange.bodyBytes = read.bytes;
  exchange.body = validateBody(row, read.value, parseQuery(exchange.query), session?.caller.scope ?? null);
  checkNumbers(read, freeMembers);
  if (row.opaque !== undefined) exchange.opaqueJson = opaqueMember(read, row.opaque);
};

/** Until its credential is resolved, a request counts towards the unresolved ones of its network. */
async function whileUnresolved(
  options: ExchangeOptions,
  exchange: Exchange,
  resolving: Promise<Credential>,
): Promise<Credential> {
  // A request refused for its share no longer waits for its credential.
  resolving.catch(() => undefined);
  takeShareOf(options, exchange, `unresolved of ${networkOf(options, exchange)}`, "network");
  const credential = await resolving;
  releaseSlot(options, exchange);
  takeSlot(options, exchange);
  return credential;
}

function isAuthenticated({ auth }: Access, { authorization, apiKey }: Inbound): boolean {
  return auth === "optional" ? authorization !== null || apiKey !== null : auth !== "none";
}

/** Counts before any other check: a request that is refused later counts, too. */
function countRequest(options: ExchangeOptions, credential: Credential): Rate | Promise<Rate> {
  const { rates, sessionRateLimit, directoryRateLimit, agentRates } = options;
  switch (credential.kind) {
    case "key": {
      const { id, rateLimit, generation } = credential.record;
      return rates.count({ kind: "key", id, limit: rateLimit, generation });
    }
    case "agent":
      return agentRates.count(credential.id);
    case "portal":
      return rates.count({ kind: "session", id: credential.id, limit: sessionRateLimit, generation: 0 });
    case "session":
      return rates.count({ kind: "session", id: credential.id, limit: sessionRateLimit, generation: 0 });
    case "directory":
      return rates.count({ kind: "directory", id: credential.tokenId, limit: directoryRateLimit, generation: 0 });
    default:
      return credential satisfies never;
  }
}
