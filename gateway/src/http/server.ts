import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AppError, uuidv7, withSpan } from "@muster/kit";
import { EdgeError } from "../errors.ts";
import { acceptedRequestId, createHeaderReader } from "../request/headers.ts";
import { deadlinesMs, type Route } from "../route/route.ts";
import { handleBrokenRequests } from "./broken-requests.ts";
import { boundConnections } from "./connections.ts";
import { createCors } from "./cors.ts";
import { beginExchange } from "./exchange.ts";
import { type NewestRequests, trackNewestRequests } from "./newest-requests.ts";
import { createObserver } from "./observe.ts";
import type { Pages } from "./pages.ts";
import { type Answering, type ReplyOptions, ReplyWriter } from "./reply-writer.ts";
import { endRequestSpan, type RequestSpan, startRequestSpan } from "./request-span.ts";
import { buildRouteTable } from "./route-table.ts";
import { runRow } from "./run-row.ts";
import { releaseSlots } from "./slots.ts";
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

export type GatewayOptions = ReplyOptions & {
  routes: readonly Route[];
  /** Handlers for paths that are not routes; the first that accepts the request serves it. */
  pages: readonly Pages[];
  corsOrigins: readonly string[];
  edgeAddressHeader: string | null;
  timeouts: GatewayTimeouts;
  /** Most open connections, agents' channels included; further ones are closed at once. */
  connectionsMax: number;
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
  return new GatewayServer(options);
}

class GatewayServer implements Gateway {
  readonly #options: GatewayOptions;
  readonly #log: GatewayOptions["log"];
  readonly #find: ReturnType<typeof buildRouteTable>;
  readonly #readHeaders: ReturnType<typeof createHeaderReader>;
  readonly #cors: ReturnType<typeof createCors>;
  readonly #observer: ReturnType<typeof createObserver>;
  readonly #replies: ReplyWriter;
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
    this.#replies = new ReplyWriter(options);
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
      await this.#replies.sendRefusal(request, response, answer, thrown);
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
    const sending = this.#replies.send(exchange, await runRow(this.#options, exchange), answer);
    if (sending !== undefined) await sending;
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

  readonly #serve: RequestListener = (request, response) => {
    this.#traced(request, response).catch((err: unknown) => {
      this.#log.error({ err }, "reply could not be written");
      response.destroy();
    });
  };

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
