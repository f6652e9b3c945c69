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
