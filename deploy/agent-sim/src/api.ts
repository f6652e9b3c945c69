import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Pool } from "undici";

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
  close(): Promise<void>;
};

const zipped = promisify(gzip);
const zipFromBytes = 2_048;
const timeoutMs = 30_000;

/** One pool of connections for all agents of the process. */
export function createApi(url: string, connections: number, userAgent: string): Api {
  const { origin, pathname } = new URL(url);
  const prefix = `${pathname.replace(/\/+$/, "")}/api/v1`;
  const pool = new Pool(origin, { connections, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
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
        const after = Number(reply.headers["retry-after"]);
        return {
          status: reply.statusCode,
          code: typeof answer.code === "string" ? answer.code : "",
          retryAfterMs: Number.isFinite(after) && after > 0 ? after * 1000 : null,
          body: answer,
        };
      } catch (error) {
        const code = String((error as { code?: unknown }).code ?? "no_answer");
        return { status: 0, code, retryAfterMs: null, body: {} };
      }
    },
    close: () => pool.destroy(),
  };
}
