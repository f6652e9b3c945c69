import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Agent, Pool, request } from "undici";

export type ApiReply = {
  /** 0 when no answer came. */
  status: number;
  code: string;
  /** As the server asks for in Retry-After. */
  retryAfterMs: number | null;
  body: Record<string, unknown>;
};

export type Api = {
  /** Never throws: what went wrong is in the reply. */
  call(method: "POST" | "PUT", path: string, body: unknown, token?: string): Promise<ApiReply>;
  /** A file, redirects followed. Never throws: status 0 and no body when no answer came. */
  download(url: string, headers: Record<string, string>): Promise<Download>;
  close(): Promise<void>;
};

export type Download = { status: number; retryAfterMs: number | null; body: Readable | null };

const zipped = promisify(gzip);
const zipFromBytes = 2_048;
const timeoutMs = 30_000;
const redirectsMax = 5;

/** One pool of connections for all agents of the process. */
export function createApi(url: string, connections: number, userAgent: string): Api {
  const { origin, pathname } = new URL(url);
  const prefix = `${pathname.replace(/\/+$/, "")}/api/v1`;
  const pool = new Pool(origin, { connections, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  // Files come from other hosts, too.
  const files = new Agent({ connections, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  return {
    async call(method, path, body, token) {
      const text = JSON.stringify(body);
      const isLong = text.length > zipFromBytes;
      const headers: Record<string, string> = { "content-type": "application/json", "user-agent": userAgent };
      if (isLong) headers["content-encoding"] = "gzip";
      if (token !== undefined) headers.authorization = `Bearer ${token}`;
      try {
        const sent = isLong ? await zipped(text) : text;
        const reply = await pool.request({ method, path: prefix + path, headers, body: sent });
        const answer = (await reply.body.json()) as Record<string, unknown>;
        return {
          status: reply.statusCode,
          code: typeof answer.code === "string" ? answer.code : "",
          retryAfterMs: retryAfterOf(reply.headers),
          body: answer,
        };
      } catch (error) {
        const code = String((error as { code?: unknown }).code ?? "no_answer");
        return { status: 0, code, retryAfterMs: null, body: {} };
      }
    },
    async download(url, headers) {
      try {
        for (let at = url, hop = 0; hop <= redirectsMax; hop++) {
          const reply = await request(at, { dispatcher: files, headers: { ...headers, "user-agent": userAgent } });
          const { location } = reply.headers;
          const retryAfterMs = retryAfterOf(reply.headers);
          const isFile = reply.statusCode === 200 || reply.statusCode === 206;
          if (isFile) return { status: reply.statusCode, retryAfterMs, body: reply.body };
          await reply.body.dump();
          if (reply.statusCode < 300 || reply.statusCode >= 400 || typeof location !== "string") {
            return { status: reply.statusCode, retryAfterMs, body: null };
          }
          at = new URL(location, at).href;
        }
      } catch {
        // Treated as if no server had answered.
      }
      return { status: 0, retryAfterMs: null, body: null };
    },
    close: async () => {
      await Promise.all([pool.destroy(), files.destroy()]);
    },
  };
}

function retryAfterOf(headers: Record<string, string | string[] | undefined>): number | null {
  const after = Number(headers["retry-after"]);
  return Number.isFinite(after) && after > 0 ? after * 1000 : null;
}
