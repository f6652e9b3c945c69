import type { ServerResponse } from "node:http";
import type { Streamed } from "../route/reply.ts";
import { afterPoll } from "./after-poll.ts";

/**
 * Sends a streamed reply and resolves when all of it has been handed to the connection, or the client has disconnected.
 * A source that fails ends the connection: a partial body must not look complete. A client that receives nothing for
 * `stalledMs` is disconnected, too: it would hold its slot for ever.
 */
export async function sendStream(
  response: ServerResponse,
  status: number,
  requestId: string,
  { contentType, lines: own, body }: Streamed,
  more: readonly string[] | null,
  stalledMs: number,
): Promise<void> {
  const lines = ["X-Request-Id", requestId, "X-Content-Type-Options", "nosniff", "Content-Type", contentType];
  for (const line of own) lines.push(line);
  if (more !== null) for (const line of more) lines.push(line);
  response.writeHead(status, lines);
  const pieces = body[Symbol.asyncIterator]();
  if (response.req.method === "HEAD") {
    await pieces.return?.();
    response.end();
    return;
  }
  try {
    for (;;) {
      const next = await pieces.next();
      if (next.done) break;
      if (response.destroyed) return;
      if (!response.write(next.value)) await drained(response, stalledMs);
    }
    response.end();
  } catch (error) {
    // The client disconnected, perhaps after the last byte, and that cancelled the source: this is not a failure.
    if (response.destroyed) return;
    response.destroy();
    throw error;
  } finally {
    await pieces.return?.();
  }
}

/** Resolves when the connection accepts more data, or has ended; one that accepts nothing for `stalledMs` is ended. */
function drained(response: ServerResponse, stalledMs: number): Promise<void> {
  return new Promise((resolve) => {
    const stalled = setTimeout(() => response.destroy(), stalledMs);
    const done = () => {
      clearTimeout(stalled);
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
    if (response.destroyed) done();
  });
}

/** Head and body in one write: a flat list of header lines skips Node's per-header bookkeeping. */
export function sendText(
  response: ServerResponse,
  status: number,
  requestId: string,
  body: string | Buffer,
  contentType: string,
  more: readonly string[] | null,
): void {
  if (response.headersSent || response.destroyed) return;
  const lines = [
    "X-Request-Id",
    requestId,
    "X-Content-Type-Options",
    "nosniff",
    "Content-Type",
    contentType,
    "Content-Length",
    String(Buffer.byteLength(body)),
  ];
  if (more !== null) for (const line of more) lines.push(line);
  response.writeHead(status, lines);
  afterPoll(() => response.end(body));
}

/**
 * A reply without a body; a 304 omits the length of the unchanged content, a 204 has none (RFC 9110 sections 15.4.5 and
 * 8.6).
 */
export function sendBare(
  response: ServerResponse,
  status: number,
  requestId: string,
  more: readonly string[] | null,
): void {
  if (response.headersSent || response.destroyed) return;
  const lines = ["X-Request-Id", requestId, "X-Content-Type-Options", "nosniff"];
  if (status !== 304 && status !== 204) lines.push("Content-Length", "0");
  if (more !== null) for (const line of more) lines.push(line);
  response.writeHead(status, lines);
  afterPoll(() => response.end());
}
