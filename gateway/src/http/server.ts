import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AppError, type Logger, uuidv7, withSpan } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { EdgeError, errorReply, unavailable } from "../errors.ts";
import { acceptedRequestId, createHeaderReader, requestIdOf } from "../request/headers.ts";
import { Answered, jsonType, Rendered, Streamed } from "../route/reply.ts";
import { deadlinesMs, type Route } from "../route/route.ts";
import { isStillSending } from "./body.ts";
import { handleBrokenRequests } from "./broken-requests.ts";
import { mayCompress, takesGzip, varying } from "./compression.ts";
import { boundConnections } from "./connections.ts";
import { createCors } from "./cors.ts";
import { beginExchange, type Exchange, type ExchangeOptions } from "./exchange.ts";
import { type NewestRequests, trackNewestRequests } from "./newest-requests.ts";
import { createObserver } from "./observe.ts";
import { ownRefusal } from "./own-refusal.ts";
import type { Pages } from "./pages.ts";
import { publicError } from "./public-error.ts";
import { rateLines } from "./rate-headers.ts";
import { cachingOf, joined, privacyOf } from "./reply-lines.ts";
import { endRequestSpan, type RequestSpan, startRequestSpan } from "./request-span.ts";
import { buildRouteTable, type Served } from "./route-table.ts";
import { runRow } from "./run-row.ts";
import { sendBare, sendStream, sendText, Answered, jsonType, Rendered, Streamed } from "./send-reply.ts";
import { isScimTarget, scimErrorReply, scimType } from "./scim-errors.ts";
import { networkOf, releaseSlots } from "./slots.ts";
import { parseTarget } from "./target.ts";

/** Bytes of request line and headers together. */
export const maxHeaderBytes = 16 * 1024;

export type GatewayTimeouts = {
  /** Until the headers of a request are complete. */
  headersMs: number;
  /** Until its body has ended, too. */
  requestMs: number;
  /** Of an idle connection. */
  keepAliveMs: number;
  /** While a client receives nothing of its reply. */
  stalledMs: number;
  /** How often the first two are looked at. */
  checkMs: number;
};

export type GatewayOptions = ExchangeOptions & {
  routes: readonly Route[];
  /** Handlers for paths that are not routes; the first that accepts the request serves it. */
  pages: readonly Pages[];
  corsOrigins: readonly string[];
  edgeAddressHeader: string | null;
  timeouts: GatewayTimeouts;
  /** Most open connections, agents' channels included; further ones are closed at once. */
  connectionsMax: number;
  /** Each reply is checked against its row's schema; a difference is a 500. For tests. */
  validateReplies: boolean;
  log: Logger;
};

export type Gateway = {
  server: Server;
  /** The newest request of each of its connections. */
  newestRequests: NewestRequests;
  listen(port: number, host: string): Promise<number>;
  /** Refuses new connections, lets requests in flight end, and closes the remaining connections after the grace. */
  close(graceMs: number): Promise<void>;
};

/** The public HTTP server: rows straight on node:http, the fallback for the rest. */
export function createGateway(options: GatewayOptions): Gateway {
  const { log, pages, timeouts } = options;
  const find = buildRouteTable(options.routes);
  const readHeaders = createHeaderReader(options.edgeAddressHeader);
  const cors = createCors(options.corsOrigins);
  const observer = createObserver(log);
  const publicUrl = new URL(options.deps.publicUrl);

  /** The first span of a trace, named once the route is known; a 5xx makes it an error, which is always kept. */
  const traced = (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const span = startRequestSpan(request.method ?? "", request.url ?? "", publicUrl);
    return span ? withSpan(span, () => handle(request, response, span)) : handle(request, response, undefined);
  };

  const handle = async (
    request: IncomingMessage,
    response: ServerResponse,
    span: RequestSpan | undefined,
  ): Promise<void> => {
    const startedMs = performance.now();
    observer.started();
    let requestId: string | null = null;
    let route = "none";
    let served: Served | null = null;
    let exchange: Exchange | null = null;
    let corsLines: readonly string[] | null = null;
    let status = 500;
    let error: unknown;
    try {
      const inbound = readHeaders(request.rawHeaders);
      requestId = acceptedRequestId(inbound.requestId) ?? uuidv7();
      corsLines = cors.forReply(inbound.origin);
      const target = parseTarget(request.url ?? "");
      const match = find(target.path);
      if (match === null) {
        if (target.slashSegments !== null) throw encodedSlash();
        const page = pages.find((each) => each.serves(request.method ?? "", target.path));
        if (page === undefined) throw new AppError("not_found", "Not found");
        route = "fallback";
        response.setHeader("X-Request-Id", requestId);
        status = await runFallback(page.handler, request, response);
        return;
      }
      const { entry } = match;
      route = entry.path;
      const method = request.method ?? "";
      const found = entry.byMethod.get(method);
      if (found === undefined) {
        if (method !== "OPTIONS")
          throw new EdgeError("method_not_allowed", "Method not allowed", ["Allow", entry.allow]);
        status = 204;
        sendEmpty(response, status, requestId, cors.forPreflight(inbound.origin, entry.allow));
        return;
      }
      served = found;
      route = found.route;
      if (target.slashSegments?.some((segment) => !found.slashSegments.includes(segment))) throw encodedSlash();
      exchange = beginExchange({
        request,
        response,
        inbound,
        served,
        rawParams: match.params,
        query: target.query,
        requestId,
        startedMs,
      });
      const result = await runRow(options, exchange);
      const answered = result instanceof Answered ? result : null;
      if (answered !== null) checkAnswer(found.row, answered);
      status = answered?.status ?? found.row.status ?? 200;
      const body = answered === null ? result : answered.body;
      const lines = joined(answered?.lines ?? null, exchange.rate && rateLines(exchange.rate), corsLines);
      if (answered !== null && body === null) {
        sendBare(
          response,
          status,
          requestId,
          joined(privacyOf(found.row, cachingOf(answered.lines)), lines, closing()),
        );
      } else if (body instanceof Streamed) {
        const own = cachingOf(body.lines) ?? (answered && cachingOf(answered.lines));
        await sendStream(
          response,
          status,
          requestId,
          body,
          joined(privacyOf(found.row, own), lines, closing()),
          timeouts.stalledMs,
        );
      } else await sendResult(exchange, status, body, lines);
    } catch (thrown) {
      error = thrown;
      const lines = joined(exchange?.rate ? rateLines(exchange.rate) : null, corsLines);
      if (exchange !== null) {
        // A refused body may still arrive for a while: it holds no slot.
        releaseSlots(options, exchange);
        if (isTooLarge(thrown) && isStillSending(request)) {
          await options.bodies.receive(request, networkOf(options, exchange), 0).catch(() => undefined);
        }
      }
      const own = exchange === null ? null : await ownRefusal(options, exchange, thrown);
      status =
        exchange === null || own === null
          ? sendError(request, response, served, requestId, thrown, lines)
          : sendOwnRefusal(exchange, own, thrown, lines);
    } finally {
      if (exchange !== null) releaseSlots(options, exchange);
      observer.ended({ route, status, startedMs, requestId: requestId ?? "", error });
      if (span) endRequestSpan(span, { method: request.method ?? "", route, status, requestId });
    }
  };

  const sendResult = async (
    { response, inbound, requestId, served: { row } }: Exchange,
    status: number,
    result: unknown,
    moreLines: readonly string[] | null,
  ): Promise<void> => {
    if (options.validateReplies) checkReply(row, result);
    const rendered = result instanceof Rendered ? result : new Rendered(JSON.stringify(result));
    const lines = privacyOf(row, row.noStore ? null : rendered.cacheControl);
    const { text, contentType } = rendered;
    const isLong = mayCompress(row, text);
    const isGzip = isLong && takesGzip(inbound.acceptEncoding);
    const body = isGzip ? await rendered.gzipped() : text;
    const coding = isLong ? varying(isGzip) : null;
    sendText(response, status, requestId, body, contentType, joined(lines, coding, moreLines, closing()));
  };

  /** A redirect in place of an error body; a failure of the gateway is logged, since the status does not show it. */
  const sendOwnRefusal = (
    { request, response, requestId, served: { row, route } }: Exchange,
    { status, lines }: Answered,
    thrown: unknown,
    moreLines: readonly string[] | null,
  ): number => {
    const { code } = publicError(thrown);
    if (code === "internal") log.error({ requestId, route, err: thrown }, "request failed");
    sendBare(
      response,
      status,
      requestId,
      joined(privacyOf(row, null), lines, moreLines, connectionLines(request, code)),
    );
    return status;
  };

  const sendError = (
    request: IncomingMessage,
    response: ServerResponse,
    served: Served | null,
    existingId: string | null,
    thrown: unknown,
    moreLines: readonly string[] | null,
  ): number => {
    const requestId = existingId ?? requestIdOf(request.rawHeaders) ?? uuidv7();
    const isScim = isScimTarget(request.url ?? "");
    const reply = (isScim ? scimErrorReply : errorReply)(whileStopping(thrown, options.draining()), requestId);
    const privacy = served === null ? null : privacyOf(served.row, null);
    if (privacy !== null) reply.headers.push(...privacy);
    const lines = joined(reply.headers, moreLines, connectionLines(request, reply.code));
    sendText(response, reply.status, requestId, reply.body, isScim ? scimType : jsonType, lines);
    return reply.status;
  };

  const serve: RequestListener = (request, response) => {
    traced(request, response).catch((err: unknown) => {
      log.error({ err }, "reply could not be written");
      response.destroy();
    });
  };

  const closing = () => (options.draining() ? closeIt : null);

  /** After a refusal the rest of a body would be read as the next request, or for ever. */
  const connectionLines = (request: IncomingMessage, code: string) => {
    const unread = !request.complete && (request.headers.expect !== undefined || givesUpBody.has(code));
    return unread ? closeIt : closing();
  };

  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      // The gateway sends this refusal with its own error body.
      requireHostHeader: false,
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.keepAliveMs,
      connectionsCheckingInterval: timeouts.checkMs,
    },
    serve,
  );
  // Bounded by maxHeaderBytes; Node would hide lines beyond a count from the checks above.
  server.maxHeadersCount = 0;
  // No data in either direction for longer than any request may last: the peer is considered dead.
  server.timeout = deadlinesMs.export + timeouts.stalledMs;
  boundConnections(server, options.connectionsMax);
  server.on("checkContinue", serve);
  server.on("checkExpectation", serve);
  const newestRequests = trackNewestRequests(server);
  handleBrokenRequests(server, newestRequests, log);

  return {
    server,
    newestRequests,
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, host, () => {
          server.off("error", reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    close: (graceMs) =>
      new Promise((resolve) => {
        const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close(() => {
          clearTimeout(deadline);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/**
 * A dependency may already have stopped while the process stops: an unexpected error is then no bug, and another
 * gateway serves the retry.
 */
function whileStopping(thrown: unknown, stopping: boolean): unknown {
  const isUnexpected = !(thrown instanceof EdgeError) && toAppError(thrown).code === "internal";
  if (!stopping || !isUnexpected) return thrown;
  return unavailable(thrown);
}

const givesUpBody: ReadonlySet<string> = new Set(["payload_too_large", "request_timeout"]);
const isTooLarge = (thrown: unknown) => thrown instanceof EdgeError && thrown.code === "payload_too_large";
const closeIt: readonly string[] = ["Connection", "close"];

/** A status that the row does not name is a bug of the gateway: the document would not hold it. */
function checkAnswer(row: Route, { status }: Answered): void {
  if (status !== (row.status ?? 200) && row.answers?.[status] === undefined) {
    throw new Error(`${row.method} ${row.path} answers ${status}, which its row does not name`);
  }
}

function sendEmpty(response: ServerResponse, status: number, requestId: string, lines: readonly string[]): void {
  response.writeHead(status, ["X-Request-Id", requestId, ...lines]);
  response.end();
}

function encodedSlash(): EdgeError {
  return new EdgeError("bad_request", "Path must not contain an encoded slash");
}

/** Resolves with the status once the page's reply was sent, or the client has disconnected. */
function runFallback(handler: RequestListener, request: IncomingMessage, response: ServerResponse): Promise<number> {
  return new Promise((resolve) => {
    response.once("close", () => resolve(response.statusCode));
    handler(request, response);
  });
}

function checkReply(row: Route, result: unknown): void {
  const value: unknown = result instanceof Rendered ? JSON.parse(result.text) : result;
  const parsed = row.reply.safeParse(value);
  if (!parsed.success)
    throw new Error(`reply of ${row.method} ${row.path} does not fit its schema: ${parsed.error.message}`);
}
