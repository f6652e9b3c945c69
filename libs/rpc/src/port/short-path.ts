import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes, parseTimeout } from "@connectrpc/connect/protocol-connect";
import { AppError, codeOf } from "@muster/kit";
import { decode, encode } from "../codec/codec.ts";
import { toConnectError } from "../protocol/errors.ts";
import { maxTimeoutMs, type PortLimits } from "../protocol/limits.ts";
import { type Guard, isPromise } from "./guard.ts";
import { LeanContext } from "./lean-context.ts";

const inflate = promisify(gunzip);
const deflate = promisify(gzip);
const oneWriteBytes = 16 * 1024;
const emptyBody: Buffer = Buffer.alloc(0);

type Answer = MessageInitShape<DescMessage>;

export type UnaryRoute = {
  method: DescMethodUnary;
  guard: Guard;
  handle(request: MessageShape<DescMessage>, context: HandlerContext): Promise<Answer> | Answer;
};

/**
 * Serves Connect unary calls in the binary encoding straight from node:http, several times cheaper than the stock
 * adapter. The returned function answers false, having touched nothing, for every request that is not one of those.
 */
export function createShortPath(
  routes: ReadonlyMap<string, UnaryRoute>,
  limits: PortLimits,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const { headers } = request;
    if (request.method !== "POST" || headers["content-type"] !== "application/proto") return false;
    const encoding = headers["content-encoding"];
    if (encoding !== undefined && encoding !== "identity" && encoding !== "gzip") return false;
    const route = routes.get(request.url ?? "");
    if (!route) return false;
    const timeoutText = headers["connect-timeout-ms"];
    const timeout = parseTimeout(typeof timeoutText === "string" ? timeoutText : null, maxTimeoutMs);
    if (timeout.error) refuse(request, response, timeout.error);
    else if (Number(headers["content-length"] ?? 0) > limits.maxBodyBytes) refuse(request, response, tooLarge(limits));
    else receive(route, request, response, limits, timeout.timeoutMs, encoding === "gzip");
    return true;
  };
}

/**
 * Answers before the body is read; what still arrives of it is thrown away, within the request timeout of the server.
 */
function refuse(request: IncomingMessage, response: ServerResponse, error: ConnectError): void {
  request.removeAllListeners("data");
  request.removeAllListeners("end");
  request.resume();
  answerError(response, undefined, error);
}

function receive(
  route: UnaryRoute,
  request: IncomingMessage,
  response: ServerResponse,
  limits: PortLimits,
  timeoutMs: number | undefined,
  compressed: boolean,
): void {
  const deadlineMs = timeoutMs === undefined ? null : performance.now() + timeoutMs;
  const context = new LeanContext(route.method, request, deadlineMs);
  let chunks: Buffer[] | undefined;
  let body: Buffer = emptyBody;
  let size = 0;
  let serving = false;
  let timer: NodeJS.Timeout | undefined;
  if (timeoutMs !== undefined) {
    timer = setTimeout(() => {
      const error = toConnectError(new AppError("deadline_exceeded", "Deadline exceeded"));
      context.interrupt(error);
      if (!serving) refuse(request, response, error);
    }, timeoutMs);
  }
  // Fires after every answer, and before one when the client has disconnected.
  response.on("close", () => {
    clearTimeout(timer);
    if (!response.writableFinished) context.interrupt(new ConnectError("Cancelled", Code.Canceled));
  });
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > limits.maxBodyBytes) refuse(request, response, tooLarge(limits));
    else if (size === chunk.length) body = chunk;
    else {
      chunks ??= [body];
      chunks.push(chunk);
    }
  });
  request.on("end", () => {
    serving = true;
    if (chunks) body = Buffer.concat(chunks, size);
    void serve(route, context, response, limits, body, compressed);
  });
}

/** Never rejects: whatever happens becomes the answer. */
async function serve(
  route: UnaryRoute,
  context: LeanContext,
  response: ServerResponse,
  limits: PortLimits,
  body: Buffer,
  compressed: boolean,
): Promise<void> {
  try {
    const bytes = compressed ? await inflateBody(body, limits) : body;
    const answer = await route.guard.call(context, () => {
      const answered = route.handle(parse(route.method, bytes), context);
      return isPromise(answered)
        ? answered.then((message) => encode(route.method.output, message))
        : encode(route.method.output, answered);
    });
    if (answer.length >= limits.compressMinBytes && context.header("accept-encoding")?.includes("gzip")) {
      answerBytes(response, context, await deflate(answer), true);
    } else answerBytes(response, context, answer, false);
  } catch (error) {
    answerError(response, context, error);
  } finally {
    context.end();
  }
}

function parse(method: DescMethodUnary, bytes: Uint8Array): MessageShape<DescMessage> {
  try {
    return decode(method.input, bytes);
  } catch (cause) {
    throw new AppError("validation_failed", "The request message is malformed", { cause });
  }
}

async function inflateBody(body: Buffer, limits: PortLimits): Promise<Buffer> {
  if (body.length === 0) return body;
  try {
    return await inflate(body, { maxOutputLength: limits.maxBodyBytes });
  } catch (error) {
    if (codeOf(error) === "ERR_BUFFER_TOO_LARGE") throw tooLarge(limits);
    throw new ConnectError("the request is not valid gzip", Code.InvalidArgument, undefined, undefined, error);
  }
}

function tooLarge(limits: PortLimits): ConnectError {
  return new ConnectError(`message is larger than ${limits.maxBodyBytes} bytes`, Code.ResourceExhausted);
}

function answerBytes(response: ServerResponse, context: LeanContext, body: Uint8Array, compressed: boolean): void {
  if (response.destroyed) return;
  const raw = ["content-type", "application/proto", "content-length", String(body.length)];
  if (compressed) raw.push("content-encoding", "gzip");
  context.appendTo(raw);
  response.writeHead(200, raw);
  if (body.length > oneWriteBytes) response.end(body);
  // As Latin-1 text, which keeps every byte, node joins it with the header into one write.
  else response.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1"), "latin1");
}

function answerError(response: ServerResponse, context: LeanContext | undefined, error: unknown): void {
  if (response.destroyed || response.headersSent) return;
  const connectError = error instanceof ConnectError ? error : new ConnectError("Internal error", Code.Internal);
  const body = errorToJsonBytes(connectError, undefined);
  const raw = ["content-type", "application/json", "content-length", String(body.length)];
  connectError.metadata.forEach((value, name) => {
    raw.push(name, value);
  });
  context?.appendTo(raw);
  response.writeHead(codeToHttpStatus(connectError.code), raw);
  response.end(body);
}
