import { AppError } from "@muster/kit";
import { checkAccess } from "../auth/authenticate.ts";
import { credentialName } from "../auth/watches.ts";
import type { RouteRequest } from "../route/route.ts";
import { cookieOf } from "./cookies.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import { withBoundCursor } from "./list-cursor.ts";
import { mediaTypeOf } from "./media-type.ts";
import { publicError } from "./public-error.ts";
import { noteRefusedChange } from "./refused-change.ts";
import { isSameOrigin } from "./same-origin.ts";
import { takeSlot } from "./slots.ts";
import {
  checkCaller,
  checkLength,
  countAddress,
  enterShare,
  identify,
  readAddress,
  readBody,
  receiveBody,
  type Step,
  waitForDirectory,
  waitInQueue,
} from "./steps.ts";
import { metaOf, rpcOf } from "./upstream.ts";
import { withField } from "./validate.ts";

/** The steps before a route's handler, in this order. */
const steps: readonly Step[] = [
  checkLength,
  countAddress,
  takeSlot,
  identify,
  enterShare,
  checkCaller,
  readAddress,
  receiveBody,
  waitInQueue,
  waitForDirectory,
  readBody,
];

/**
 * Runs a row: its steps, then its handler. Resolves with the handler's result; throws AppError and EdgeError. A change
 * that is refused to an authenticated caller is reported, whether a step or the service behind the handler refused it.
 */
export async function runRow(options: ExchangeOptions, exchange: Exchange): Promise<unknown> {
  try {
    for (const step of steps) {
      const waiting = step(options, exchange);
      if (waiting !== undefined) await waiting;
    }
  } catch (error) {
    options.noteScimRefusal(options, exchange, error);
    noteRefusedChange(options, exchange, error);
    throw error;
  }
  const { row } = exchange.served;
  try {
    const result = row.handle(requestOf(options, exchange), options.deps);
    return withBoundCursor(exchange, result instanceof Promise ? await result : result);
  } catch (thrown) {
    const error = publicError(thrown);
    const refusal = error instanceof AppError ? withField(error, row) : error;
    noteRefusedChange(options, exchange, refusal);
    throw refusal;
  }
}

function requestOf(options: ExchangeOptions, exchange: Exchange): RouteRequest {
  const { session, params, queryValues, body, bodyBytes, opaqueJson, inbound } = exchange;
  return {
    session: session as never,
    params,
    query: queryValues,
    body,
    bodyBytes,
    mediaType: mediaTypeFor(exchange),
    opaqueJson,
    cookie: cookieFor(options, exchange),
    conditions: () => (exchange.request.method === "HEAD" ? { ...inbound, range: null } : inbound),
    sameOrigin: () => isSameOrigin(inbound),
    rpc: rpcOf(options, exchange),
    meta: () => metaOf(options, exchange),
    isStillAdmitted: () => isStillAdmitted(options, exchange),
    whileAdmitted: (end) => whileAdmitted(options, exchange, end),
  };
}

/** The value of the cookie that the row names; null for rows that name none. */
function cookieFor({ deps }: ExchangeOptions, { inbound, served }: Exchange): string | null {
  const { cookie } = served.row;
  return cookie === undefined ? null : cookieOf(inbound.cookie, typeof cookie === "string" ? cookie : cookie(deps));
}

function mediaTypeFor({ inbound, served }: Exchange): string | null {
  const { raw } = served.row;
  return raw === undefined || inbound.contentType === null ? null : mediaTypeOf(inbound.contentType, raw);
}

/** A cached caller is one object for as long as nothing about them changes. */
async function isStillAdmitted(options: ExchangeOptions, exchange: Exchange): Promise<boolean> {
  const { authenticate, accessRules, now, draining } = options;
  const { inbound, request, served, session } = exchange;
  if (draining() || session === null) return false;
  try {
    const current = await authenticate(inbound, request);
    checkAccess(served.row.access, current, accessRules, now);
    return current === session;
  } catch (refusal) {
    if (refusal instanceof AppError) return false;
    throw refusal;
  }
}

function whileAdmitted(options: ExchangeOptions, exchange: Exchange, end: () => void): { stop(): void } {
  const { session } = exchange;
  if (session === null) throw new Error("a reply without a caller ends with nobody's admission");
  const credential = credentialName(session.kind, session.id);
  return options.watches.watch({ credential, isAdmitted: () => isStillAdmitted(options, exchange), end });
}
