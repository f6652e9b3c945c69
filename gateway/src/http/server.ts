import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AppError, type Logger, uuidv7, withSpan } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { EdgeError, unavailable } from "../errors.ts";
import { acceptedRequestId, createHeaderReader, requestIdOf } from "../request/headers.ts";
import { Answered, Rendered, Streamed } from "../route/reply.ts";
import { deadlinesMs, type Route } from "../route/route.ts";
import { isStillSending } from "./body.ts";
import { handleBrokenRequests } from "./broken-requests.ts";
import { mayCompress, takesGzip, varying } from "./compression.ts";
import { boundConnections } from "./connections.ts";
import { createCors } from "./cors.ts";
import { formedError } from "./error-form.ts";
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
import { sendBare, sendStream, sendText } from "./send-reply.ts";
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

/** How far the answer to one request has come. */
type Answering = {
  readonly startedMs: number;
  /** Null until the headers are read. */
  requestId: string | null;
  route: string;
  served: Served | null;
  exchange: Exchange | null;
  corsLines: readonly string[] | null;
  status: number;
};

/** The public HTTP server: rows straight on node:http, the fallback for the rest. */
export function createGateway(options: GatewayOptions): Gateway {
  return new GatewayServer(options);
}

class GatewayServer implements Gateway {
  readonly #options: GatewayOptions;
  readonly #log: GatewayOptions["log"];
  readonly #find: ReturnType<typeof buildRouteTable>;
  readonly #readHeaders: ReturnType<typeof createHeaderReader>;
  readonly #cors: ReturnType<typeof createCors>;
  readonly #observer: ReturnType<typeof createObserver>;
  readonly #publicUrl: URL;
  readonly server: ReturnType<typeof createServer>;
  readonly newestRequests: ReturnType<typeof trackNewestRequests>;

  constructor(options: GatewayOptions) {
    this.#options = options;
    const { log, timeouts } = options;
    this.#log = log;
    this.#find = buildRouteTable(options.routes);
    this.#readHeaders = createHeaderReader(options.edgeAddressHeader);
    this.#cors = createCors(options.corsOrigins);
    this.#observer = createObserver(this.#log);
    this.#publicUrl = new URL(options.deps.publicUrl);
    this.server = createServer(
      {
        maxHeaderSize: maxHeaderBytes,
        // The gateway sends this refusal with its own error body.
        requireHostHeader: false,
        headersTimeout: timeouts.headersMs,
        requestTimeout: timeouts.requestMs,
        keepAliveTimeout: timeouts.keepAliveMs,
        connectionsCheckingInterval: timeouts.checkMs,
      },
      this.#serve,
    );
    // Bounded by maxHeaderBytes; Node would hide lines beyond a count from the checks above.
    this.server.maxHeadersCount = 0;
    // No data in either direction for longer than any request may last: the peer is considered dead.
    this.server.timeout = deadlinesMs.export + timeouts.stalledMs;
    boundConnections(this.server, options.connectionsMax);
    this.server.on("checkContinue", this.#serve);
    this.server.on("checkExpectation", this.#serve);
    this.newestRequests = trackNewestRequests(this.server);
    handleBrokenRequests(this.server, this.newestRequests, this.#log);
  }

  /** The first span of a trace, named once the route is known; a 5xx makes it an error, which is always kept. */
  #traced(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const span = startRequestSpan(request.method ?? "", request.url ?? "", this.#publicUrl);
    return span
      ? withSpan(span, () => this.#handle(request, response, span))
      : this.#handle(request, response, undefined);
  }

  async #handle(request: IncomingMessage, response: ServerResponse, span: RequestSpan | undefined): Promise<void> {
    const startedMs = performance.now();
    this.#observer.started();
    const answer: Answering = {
      startedMs,
      requestId: null,
      route: "none",
      served: null,
      exchange: null,
      corsLines: null,
      status: 500,
    };
    let error: unknown;
    try {
      await this.#answer(request, response, answer);
    } catch (thrown) {
      error = thrown;
      await this.#answerError(request, response, answer, thrown);
    } finally {
      const { route, status, requestId, exchange } = answer;
      if (exchange !== null) releaseSlots(this.#options, exchange);
      this.#observer.ended({ route, status, startedMs, requestId: requestId ?? "", error });
      if (span) endRequestSpan(span, { method: request.method ?? "", route, status, requestId });
    }
  }

  /** Finds the row and sends its reply, noting in `answer` how far it came. */
  async #answer(request: IncomingMessage, response: ServerResponse, answer: Answering): Promise<void> {
    const inbound = this.#readHeaders(request.rawHeaders);
    const requestId = acceptedRequestId(inbound.requestId) ?? uuidv7();
    answer.requestId = requestId;
    answer.corsLines = this.#cors.forReply(inbound.origin);
    const target = parseTarget(request.url ?? "");
    const match = this.#find(target.path);
    if (match === null) return this.#sendPage(request, response, target, answer);
    const { entry } = match;
    answer.route = entry.path;
    const method = request.method ?? "";
    const served = entry.byMethod.get(method);
    if (served === undefined) {
      if (method !== "OPTIONS") throw new EdgeError("method_not_allowed", "Method not allowed", ["Allow", entry.allow]);
      answer.status = 204;
      sendEmpty(response, 204, requestId, this.#cors.forPreflight(inbound.origin, entry.allow));
      return;
    }
    answer.served = served;
    answer.route = served.route;
    if (target.slashSegments?.some((segment) => !served.slashSegments.includes(segment))) throw encodedSlash();
    const { startedMs } = answer;
    const { params: rawParams } = match;
    const { query } = target;
    const exchange = beginExchange({ request, response, inbound, served, rawParams, query, requestId, startedMs });
    answer.exchange = exchange;
    await this.#sendReply(exchange, await runRow(this.#options, exchange), answer);
  }

  async #sendPage(
    request: IncomingMessage,
    response: ServerResponse,
    target: ReturnType<typeof parseTarget>,
    answer: Answering,
  ): Promise<void> {
    if (target.slashSegments !== null) throw encodedSlash();
    const page = this.#options.pages.find((each) => each.serves(request.method ?? "", target.path));
    if (page === undefined) throw new AppError("not_found", "Not found");
    answer.route = "fallback";
    response.setHeader("X-Request-Id", answer.requestId ?? "");
    answer.status = await runFallback(page.handler, request, response);
  }

  async #sendReply(exchange: Exchange, result: unknown, answer: Answering): Promise<void> {
    const { response, requestId, served, rate } = exchange;
    const answered = result instanceof Answered ? result : null;
    if (answered !== null) checkAnswer(served.row, answered);
    const status = answered?.status ?? served.row.status ?? 200;
    answer.status = status;
    const body = answered === null ? result : answered.body;
    const lines = joined(answered?.lines ?? null, rate && rateLines(rate), answer.corsLines);
    if (answered !== null && body === null) {
      const privacy = privacyOf(served.row, cachingOf(answered.lines));
      sendBare(response, status, requestId, joined(privacy, lines, this.#closing()));
    } else if (body instanceof Streamed) {
      const own = cachingOf(body.lines) ?? (answered && cachingOf(answered.lines));
      const all = joined(privacyOf(served.row, own), lines, this.#closing());
      await sendStream(response, status, requestId, body, all, this.#options.timeouts.stalledMs);
    } else await this.#sendResult(exchange, status, body, lines);
  }

  async #answerError(
    request: IncomingMessage,
    response: ServerResponse,
    answer: Answering,
    thrown: unknown,
  ): Promise<void> {
    const { exchange, served, requestId, corsLines } = answer;
    const lines = joined(exchange?.rate ? rateLines(exchange.rate) : null, corsLines);
    if (exchange !== null) {
      // A refused body may still arrive for a while: it holds no slot.
      releaseSlots(this.#options, exchange);
      if (isTooLarge(thrown) && isStillSending(request)) {
        await this.#options.bodies.receive(request, networkOf(this.#options, exchange), 0).catch(() => undefined);
      }
    }
    const own = exchange === null ? null : await ownRefusal(this.#options, exchange, thrown);
    answer.status =
      exchange === null || own === null
        ? this.#sendError(request, response, served, requestId, thrown, lines)
        : this.#sendOwnRefusal(exchange, own, thrown, lines);
  }

  async #sendResult(
    { response, inbound, requestId, served: { row } }: Exchange,
    status: number,
    result: unknown,
    moreLines: readonly string[] | null,
  ): Promise<void> {
    if (this.#options.validateReplies) checkReply(row, result);
    const rendered = result instanceof Rendered ? result : new Rendered(JSON.stringify(result));
    const lines = privacyOf(row, row.noStore ? null : rendered.cacheControl);
    const { text, contentType } = rendered;
    const isLong = mayCompress(row, text);
    const isGzip = isLong && takesGzip(inbound.acceptEncoding);
    const body = isGzip ? await rendered.gzipped() : text;
    const coding = isLong ? varying(isGzip) : null;
    sendText(response, status, requestId, body, contentType, joined(lines, coding, moreLines, this.#closing()));
  }

  /** A redirect in place of an error body; a failure of the gateway is logged, since the status does not show it. */
  #sendOwnRefusal(
    { request, response, requestId, served: { row, route } }: Exchange,
    { status, lines }: Answered,
    thrown: unknown,
    moreLines: readonly string[] | null,
  ): number {
    const { code } = publicError(thrown);
    if (code === "internal") this.#log.error({ requestId, route, err: thrown }, "request failed");
    sendBare(
      response,
      status,
      requestId,
      joined(privacyOf(row, null), lines, moreLines, this.#connectionLines(request, code)),
    );
    return status;
  }

  #sendError(
    request: IncomingMessage,
    response: ServerResponse,
    served: Served | null,
    existingId: string | null,
    thrown: unknown,
    moreLines: readonly string[] | null,
  ): number {
    const requestId = existingId ?? requestIdOf(request.rawHeaders) ?? uuidv7();
    const failed = {
      target: request.url ?? "",
      row: served?.row ?? null,
      contentType: request.headers["content-type"] ?? null,
    };
    const reply = formedError(failed, whileStopping(thrown, this.#options.draining()), requestId);
    const privacy = served === null ? null : privacyOf(served.row, null);
    if (privacy !== null) reply.headers.push(...privacy);
    const lines = joined(reply.headers, moreLines, this.#connectionLines(request, reply.code));
    sendText(response, reply.status, requestId, reply.body, reply.contentType, lines);
    return reply.status;
  }

  readonly #serve: RequestListener = (request, response) => {
    this.#traced(request, response).catch((err: unknown) => {
      this.#log.error({ err }, "reply could not be written");
      response.destroy();
    });
  };

  #closing() {
    return this.#options.draining() ? closeIt : null;
  }

  /** After a refusal the rest of a body would be read as the next request, or for ever. */
  #connectionLines(request: IncomingMessage, code: string) {
    const unread = !request.complete && (request.headers.expect !== undefined || givesUpBody.has(code));
    return unread ? closeIt : this.#closing();
  }

  readonly listen = (port: number, host: string): Promise<number> => {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, host, () => {
        this.server.off("error", reject);
        resolve((this.server.address() as AddressInfo).port);
      });
    });
  };

  readonly close = (graceMs: number): Promise<void> => {
    return new Promise((resolve) => {
      const deadline = setTimeout(() => this.server.closeAllConnections(), graceMs);
      this.server.close(() => {
        clearTimeout(deadline);
        resolve();
      });
      this.server.closeIdleConnections();
    });
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
