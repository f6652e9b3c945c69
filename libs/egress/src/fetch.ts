import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Egress } from "./egress.ts";
import { EgressRefused } from "./refused.ts";

export type GuardedRequest = {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Bytes of the answer's body; the profile's when absent. */
  maxBytes?: number;
  /** Milliseconds until headers, and between two pieces of the body; the profile's when absent. */
  timeoutMs?: number;
  /** Milliseconds over all; none when absent. */
  totalMs?: number;
};

export type GuardedReply = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** After redirects. */
  url: string;
  /** Errs with EgressLimit past `maxBytes` or `timeoutMs`; destroy it when it is not read to its end. */
  body: Readable;
};

/** The answer was larger or slower than allowed, or redirected too often. */
export class EgressLimit extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EgressLimit";
  }
}

const redirecting = new Set([301, 302, 303, 307, 308]);
const secretHeaders = new Set(["authorization", "cookie", "proxy-authorization"]);

/**
 * A request of which every hop is checked; redirects as the profile allows, credentials never to another origin.
 * Throws EgressRefused, EgressLimit, or what the connection failed with.
 */
export async function guardedRequest(egress: Egress, url: string, request: GuardedRequest = {}): Promise<GuardedReply> {
  const { profile } = egress;
  const timeoutMs = request.timeoutMs ?? profile.timeoutMs;
  const maxBytes = request.maxBytes ?? profile.maxBytes;
  const total = request.totalMs === undefined ? null : AbortSignal.timeout(request.totalMs);
  let method = request.method ?? "GET";
  let body = request.body ?? null;
  let headers = request.headers ?? {};
  for (let hop = 0, at = url; ; hop++) {
    const target = await egress.check(at);
    const limit = AbortSignal.timeout(timeoutMs);
    const waiting = new AbortController();
    const onLimit = () => waiting.abort(new EgressLimit(`no answer within ${timeoutMs} ms`));
    limit.addEventListener("abort", onLimit, { once: true });
    const signal = total ? AbortSignal.any([waiting.signal, total]) : waiting.signal;
    const reply = await egress.pools.to(target).pool.request({
      origin: target.url.origin,
      path: `${target.url.pathname}${target.url.search}`,
      method,
      headers,
      body,
      signal,
    });
    limit.removeEventListener("abort", onLimit);
    const location = reply.headers.location;
    if (!redirecting.has(reply.statusCode) || typeof location !== "string" || profile.redirects === 0) {
      const bounded = Readable.from(boundedBody(reply.body, maxBytes, timeoutMs), { objectMode: false });
      return { status: reply.statusCode, headers: reply.headers, url: at, body: bounded };
    }
    reply.body.on("error", () => undefined);
    reply.body.destroy();
    if (hop >= profile.redirects) throw new EgressLimit(`more than ${profile.redirects} redirects`);
    if (!URL.canParse(location, at)) throw new EgressRefused("not_a_url");
    const next = new URL(location, at);
    if (next.origin !== target.origin) {
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !secretHeaders.has(name.toLowerCase())));
    }
    if (reply.statusCode === 303 || (reply.statusCode <= 302 && method === "POST")) {
      method = "GET";
      body = null;
    }
    at = next.href;
  }
}

type Body = AsyncIterable<Buffer> & Pick<Readable, "destroy">;

async function* boundedBody(body: Body, maxBytes: number, idleMs: number): AsyncGenerator<Buffer> {
  let seen = 0;
  const idle = setTimeout(() => body.destroy(new EgressLimit(`silent for ${idleMs} ms`)), idleMs);
  try {
    for await (const chunk of body) {
      idle.refresh();
      seen += chunk.length;
      if (seen > maxBytes) throw new EgressLimit(`more than ${maxBytes} bytes`);
      yield chunk;
    }
  } finally {
    clearTimeout(idle);
    body.destroy();
  }
}

/** `fetch` for libraries that take one: same guards, whole body in memory, redirects handed back as they are. */
export function guardedFetch(egress: Egress): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers));
    const source = init.body ?? null;
    const body = source === null ? undefined : Buffer.from(await new Response(source).arrayBuffer());
    const reply = await guardedRequest(egress, String(url), {
      method: init.method ?? "GET",
      headers,
      ...(body ? { body } : {}),
      totalMs: egress.profile.timeoutMs,
    });
    const received = await buffer(reply.body);
    const out = new Headers();
    for (const [name, value] of Object.entries(reply.headers)) {
      for (const each of Array.isArray(value) ? value : [value ?? ""]) out.append(name, each);
    }
    const empty = reply.status === 204 || reply.status === 205 || reply.status === 304;
    return new Response(empty ? null : received, { status: reply.status, headers: out });
  };
}
