import type { ServerResponse } from "node:http";

/** JSON that was rendered before: cheap to send again. */
export class Rendered {
  readonly text: string;
  readonly contentType: string;
  readonly cacheControl: string | null;

  constructor(text: string, contentType: string = jsonType, cacheControl: string | null = null) {
    this.text = text;
    this.contentType = contentType;
    this.cacheControl = cacheControl;
  }
}

/** A reply whose bytes come one after the other; asked for as fast as the client takes them. */
export class Streamed {
  readonly contentType: string;
  /** Header lines beside it, flat. */
  readonly lines: readonly string[];
  readonly body: AsyncIterable<Uint8Array>;

  constructor(contentType: string, lines: readonly string[], body: AsyncIterable<Uint8Array>) {
    this.contentType = contentType;
    this.lines = lines;
    this.body = body;
  }
}

/**
 * Sends a streamed reply and resolves when all of it has been handed to the connection, or the client has gone. A body that
 * fails on its way ends the connection: what arrived must not look whole.
 */
export async function sendStream(
  response: ServerResponse,
  status: number,
  requestId: string,
  { contentType, lines: own, body }: Streamed,
  more: readonly string[] | null,
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
      if (!response.write(next.value)) await drained(response);
    }
    response.end();
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    await pieces.return?.();
  }
}

/** Resolves when the connection takes more, or has ended. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
    if (response.destroyed) done();
  });
}

export const jsonType = "application/json; charset=utf-8";

/** Head and body in one write: a flat list of header lines skips Node's per-header bookkeeping. */
export function sendText(
  response: ServerResponse,
  status: number,
  requestId: string,
  text: string,
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
    String(Buffer.byteLength(text)),
  ];
  if (more !== null) for (const line of more) lines.push(line);
  response.writeHead(status, lines);
  response.end(text);
}
