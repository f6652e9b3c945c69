import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { counter, type Logger, uuidv7 } from "@muster/kit";
import { EdgeError, errorReply } from "../errors.ts";
import { jsonType } from "../route/reply.ts";
import type { NewestRequests } from "./newest-requests.ts";

const broken = counter("muster_gateway_parse_errors_total", "Requests the HTTP parser refused, by its code.", ["code"]);

const timedOut = "ERR_HTTP_REQUEST_TIMEOUT";

/** An error of Node's parser or timers as one of our codes. */
const parserErrors: Record<string, () => EdgeError> = {
  HPE_HEADER_OVERFLOW: () => new EdgeError("headers_too_large", "Request headers are larger than 16 KiB"),
  [timedOut]: () => new EdgeError("request_timeout", "Request did not arrive in time"),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () =>
    new EdgeError("payload_too_large", "Chunk extensions of the request body are larger than 16 KiB"),
};

/**
 * NewestRequests input that could not be parsed as a request: sends the error body and closes the connection, provided
 * that the client can distinguish the reply from an earlier one.
 */
export function handleBrokenRequests(server: Server, newest: NewestRequests, log: Logger): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const code = error.code ?? "unknown";
    broken.labels(code.startsWith("HPE_") || code.startsWith("ERR_HTTP") ? code : "connection").inc();
    log.debug({ err: error }, "request could not be read");
    // The connection never carried a request: an unsolicited reply would be read as the reply to the next request.
    if (code === timedOut && isUnused(socket)) {
      socket.end(() => socket.destroy());
      return;
    }
    if (!socket.writable || code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    const problem = parserErrors[code]?.() ?? new EdgeError("bad_request", "Request could not be read");
    const refuse = () => socket.end(rawReply(problem), () => socket.destroy());
    const last = newest.last(socket);
    if (last === undefined || last.response.writableFinished) {
      refuse();
      return;
    }
    // A response has its socket only when it is next; when the body is malformed, this is its reply.
    const hasTurn = last.response.socket !== null && !last.response.headersSent;
    if (hasTurn && !last.request.complete) refuse();
    else last.response.once("finish", refuse);
  });

  // Without a listener Node drops a CONNECT without a reply.
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    socket.end(rawReply(new EdgeError("bad_request", "Request target must begin with /")), () => socket.destroy());
  });
}

/** Whether no byte of a request ever came. */
function isUnused(socket: Duplex): boolean {
  return (socket as Partial<Socket>).bytesRead === 0;
}

function rawReply(problem: EdgeError): string {
  const requestId = uuidv7();
  const { status, body } = errorReply(problem, requestId);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    `X-Request-Id: ${requestId}`,
    `Content-Type: ${jsonType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}
