import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { codeOf, fieldsOf } from "@muster/kit/agent";
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from "undici";

export type ApiReply = {
  /** 0 when no answer came. */
  status: number;
  code: string;
  /** As the server asks for in Retry-After. */
  retryAfterMs: number | null;
  body: Record<string, unknown>;
};

export type CallOptions = { token?: string; idempotencyKey?: string };

export type Api = {
  /** Never throws: what went wrong is in the reply. Redirects are not followed: a token goes to one origin only. */
  call(method: "POST" | "PUT", path: string, body: unknown, options?: CallOptions): Promise<ApiReply>;
  /**
   * A file, at most three redirects followed, none of them from https to http. Never throws: status 0 and no body when
   * no answer came.
   */
  download(url: string, headers: Record<string, string>): Promise<Download>;
  close(): Promise<void>;
};

export type Download = { status: number; retryAfterMs: number | null; body: Readable | null };

export type ApiOptions = {
  /** Base URL of the platform, without /api/v1. */
  url: string;
  connections: number;
  userAgent: string;
  /** Certificates (PEM) that are trusted in addition to the system's. */
  ca?: readonly string[];
  /** Whether HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment count. */
  proxies?: boolean;
  /** Milliseconds of a whole reply: a server that sends a byte now and then holds nobody (60 s). */
  replyMs?: number;
};

const zipped = promisify(gzip);
const zipFromBytes = 2_048;
const timeoutMs = 30_000;
const replyMsDefault = 60_000;
/** Bytes of a reply: an offer with its manifest and root notes has less than 1 MiB. */
const replyBytesMax = 4 * 1024 * 1024;
const redirectsMax = 3;

function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/") end--;
  return path.slice(0, end);
}

/** One pool of connections for all agents of the process. */
export function createApi(options: ApiOptions): Api {
  const { url, userAgent, replyMs = replyMsDefault } = options;
  const { origin, pathname } = new URL(url);
  const prefix = `${withoutTrailingSlashes(pathname)}/api/v1`;
  const pool = dispatcherOf(options);
  // Files come from other hosts, too.
  const files = dispatcherOf(options);
  return {
    async call(method, path, body, { token, idempotencyKey } = {}) {
      const text = JSON.stringify(body);
      const isLong = text.length > zipFromBytes;
      const headers: Record<string, string> = { "content-type": "application/json", "user-agent": userAgent };
      if (isLong) headers["content-encoding"] = "gzip";
      if (token !== undefined) headers.authorization = `Bearer ${token}`;
      if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
      try {
        const sent = isLong ? await zipped(text) : text;
        const reply = await pool.request({ origin, method, path: prefix + path, headers, body: sent });
        const answer = objectIn(await textOf(reply.body, replyMs));
        return {
          status: reply.statusCode,
          code: typeof answer.code === "string" ? answer.code : "",
          retryAfterMs: retryAfterOf(reply.headers),
          body: answer,
        };
      } catch (error) {
        const code = codeOf(error) || "no_answer";
        return { status: 0, code, retryAfterMs: null, body: {} };
      }
    },
    async download(first, headers) {
      try {
        for (let at = first, hop = 0; hop <= redirectsMax; hop++) {
          const reply = await request(at, { dispatcher: files, headers: { ...headers, "user-agent": userAgent } });
          const { location } = reply.headers;
          const retryAfterMs = retryAfterOf(reply.headers);
          const isFile = reply.statusCode === 200 || reply.statusCode === 206;
          if (isFile) return { status: reply.statusCode, retryAfterMs, body: reply.body };
          await reply.body.dump();
          if (reply.statusCode < 300 || reply.statusCode >= 400 || typeof location !== "string") {
            return { status: reply.statusCode, retryAfterMs, body: null };
          }
          const next = new URL(location, at);
          if (new URL(at).protocol === "https:" && next.protocol !== "https:") break;
          at = next.href;
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

function dispatcherOf({ connections, ca, proxies }: ApiOptions): Dispatcher {
  const connect = ca && ca.length > 0 ? { ca: [...ca] } : {};
  const options = { connections, headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect };
  return proxies ? new EnvHttpProxyAgent({ ...options, requestTls: connect }) : new Agent(options);
}

/** Throws when the reply is too large or takes too long. */
async function textOf(body: Readable, replyMs: number): Promise<string> {
  const endMs = performance.now() + replyMs;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > replyBytesMax || performance.now() > endMs) throw new Error("the reply is too large or too slow");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The object of a reply; empty for a reply of a proxy or of another server. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function retryAfterOf(headers: Record<string, string | string[] | undefined>): number | null {
  const after = Number(headers["retry-after"]);
  return Number.isFinite(after) && after > 0 ? after * 1000 : null;
}
