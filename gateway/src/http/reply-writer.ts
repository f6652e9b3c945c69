import type { IncomingMessage, ServerResponse } from "node:http";
import { type Logger, uuidv7 } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { EdgeError, unavailable } from "../errors.ts";
import { requestIdOf } from "../request/headers.ts";
import { Answered, Rendered, Streamed } from "../route/reply.ts";
import type { Route } from "../route/route.ts";
import { isStillSending } from "./body.ts";
import { mayCompress, takesGzip, varying } from "./compression.ts";
import { formedError } from "./error-form.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import { ownRefusal } from "./own-refusal.ts";
import { publicError } from "./public-error.ts";
import { rateLines } from "./rate-headers.ts";
import { cachingOf, joined, privacyOf } from "./reply-lines.ts";
import type { Served } from "./route-table.ts";
import { sendBare, sendStream, sendText } from "./send-reply.ts";
import { networkOf, releaseSlots } from "./slots.ts";

export type ReplyOptions = ExchangeOptions & {
  timeouts: {
    /** While a client receives nothing of its reply. */
    stalledMs: number;
  };
  /** Each reply is checked against its row's schema; a difference is a 500. For tests. */
  validateReplies: boolean;
  log: Logger;
};

/** How far the answer to one request has come. */
export type Answering = {
  readonly startedMs: number;
  /** Null until the headers are read. */
  requestId: string | null;
  route: string;
  served: Served | null;
  exchange: Exchange | null;
  corsLines: readonly string[] | null;
  status: number;
};

/**
 * Sends what rows return, and refusals: with the headers of their row, and the status noted in `answer`. A promise is
 * returned only where the reply has to be compressed, streamed or waited for.
 */
export class ReplyWriter {
  readonly #options: ReplyOptions;

  constructor(options: ReplyOptions) {
    this.#options = options;
  }

  send(exchange: Exchange, result: unknown, answer: Answering): void | Promise<void> {
    const { response, requestId, served, rate } = exchange;
    const answered = result instanceof Answered ? result : null;
    if (answered !== null) checkAnswer(served.row, answered);
    const status = answered?.status ?? served.row.status ?? 200;
    answer.status = status;
    const body = answered === null ? result : answered.body;
    const lines = joined(answered?.lines ?? null, rate && rateLines(rate), answer.corsLines);
    if (answered !== null && body === null) {
      const privacy = privacyOf(served.row, cachingOf(answered.lines));
      return sendBare(response, status, requestId, joined(privacy, lines, this.#closing()));
    }
    if (body instanceof Streamed) {
      const own = cachingOf(body.lines) ?? (answered && cachingOf(answered.lines));
      const all = joined(privacyOf(served.row, own), lines, this.#closing());
      return sendStream(response, status, requestId, body, all, this.#options.timeouts.stalledMs);
    }
    return this.#sendResult(exchange, status, body, lines);
  }

  async sendRefusal(
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

  #sendResult(
    { response, inbound, requestId, served: { row } }: Exchange,
    status: number,
    result: unknown,
    moreLines: readonly string[] | null,
  ): void | Promise<void> {
    if (this.#options.validateReplies) checkReply(row, result);
    const rendered = result instanceof Rendered ? result : new Rendered(JSON.stringify(result));
    const lines = privacyOf(row, row.noStore ? null : rendered.cacheControl);
    const { text, contentType } = rendered;
    const isLong = mayCompress(row, text);
    const isGzip = isLong && takesGzip(inbound.acceptEncoding);
    const coding = isLong ? varying(isGzip) : null;
    const sendBody = (body: string | Buffer) =>
      sendText(response, status, requestId, body, contentType, joined(lines, coding, moreLines, this.#closing()));
    return isGzip ? rendered.gzipped().then(sendBody) : sendBody(text);
  }

  /** A redirect in place of an error body; a failure of the gateway is logged, since the status does not show it. */
  #sendOwnRefusal(
    { request, response, requestId, served: { row, route } }: Exchange,
    { status, lines }: Answered,
    thrown: unknown,
    moreLines: readonly string[] | null,
  ): number {
    const { code } = publicError(thrown);
    if (code === "internal") this.#options.log.error({ requestId, route, err: thrown }, "request failed");
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

  #closing() {
    return this.#options.draining() ? closeIt : null;
  }

  /** After a refusal the rest of a body would be read as the next request, or for ever. */
  #connectionLines(request: IncomingMessage, code: string) {
    const unread = !request.complete && (request.headers.expect !== undefined || givesUpBody.has(code));
    return unread ? closeIt : this.#closing();
  }
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

function checkReply(row: Route, result: unknown): void {
  const value: unknown = result instanceof Rendered ? JSON.parse(result.text) : result;
  const parsed = row.reply.safeParse(value);
  if (!parsed.success)
    throw new Error(`reply of ${row.method} ${row.path} does not fit its schema: ${parsed.error.message}`);
}
