import createFetchClient, { type Client } from "openapi-fetch";
import { unreachable } from "./errors.ts";
import { anonymous, repeatable } from "./generated/operations.ts";
import type { paths } from "./generated/schema.ts";
import { type Pages, pagesOf } from "./pages.ts";
import { pauseOf, type RetryOptions, sleep } from "./retry.ts";
import { createSession, type RefreshWith, type Session, type Tokens } from "./session.ts";

export type ClientOptions = {
  /** Address of the API without its `/api/v1`. */
  baseUrl: string;
  /** A program's credential. */
  apiKey?: string;
  /** A user's, from a sign-in; refreshed when it expires. */
  tokens?: Tokens;
  /** Called with each next pair of tokens, to store it, and with null when the session has ended. */
  onTokens?: (next: Tokens | null) => void;
  /** Around each exchange of the refresh token, where several processes or tabs share a session. */
  refreshWith?: RefreshWith;
  /** Repeats at most per request; default 3. */
  retries?: number;
  /** The longest pause before a repeat; default 30,000 ms. */
  maxPauseMs?: number;
  fetch?: typeof globalThis.fetch;
};

export type MusterClient = Client<paths> & {
  /** The items of a list, page after page. Throws MusterError. */
  pages: Pages;
};

const repeatHeader = "idempotency-key";

/**
 * A typed client of the API: `GET`, `POST` … take a path of the OpenAPI document and resolve to `{data}` or `{error}`,
 * whose `code` names the failure; they reject only when the caller aborts. Requests that may be repeated are repeated
 * as Retry-After asks: those that change nothing, PUT, DELETE, and each POST that takes an Idempotency-Key, which gets
 * one.
 */
export function createMusterClient(options: ClientOptions): MusterClient {
  const baseUrl = options.baseUrl.replace(/\/$/, "");
  const fetch = options.fetch ?? ((...args: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...args));
  const { apiKey, tokens, onTokens, refreshWith, retries = 3, maxPauseMs = 30_000 } = options;
  const rules: RetryOptions = { retries, maxPauseMs, sleep };
  const session = tokens ? createSession(tokens, { baseUrl, fetch, onTokens, refreshWith }) : null;
  const client = createFetchClient<paths>({
    baseUrl,
    querySerializer: { array: { style: "form", explode: false } },
    fetch: (request) => send(request, { fetch, session, rules }),
  });
  client.use({
    onRequest({ request, schemaPath }) {
      if (request.method === "POST" && repeatable.includes(schemaPath) && !request.headers.has(repeatHeader)) {
        request.headers.set(repeatHeader, newKey());
      }
      if (anonymous.includes(schemaPath)) return;
      if (apiKey) request.headers.set("x-api-key", apiKey);
      const accessToken = session?.accessToken();
      if (accessToken) request.headers.set("authorization", `Bearer ${accessToken}`);
    },
  });
  return Object.assign(client, { pages: pagesOf(client) });
}

/** 128 random bits; pages over plain http have no `crypto.randomUUID`. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

type Sending = { fetch: typeof globalThis.fetch; session: Session | null; rules: RetryOptions };

async function send(first: Request, { fetch, session, rules }: Sending): Promise<Response> {
  const mayRepeat = first.method !== "POST" && first.method !== "PATCH" ? true : first.headers.has(repeatHeader);
  let request = first;
  let isRefreshed = false;
  for (let attempt = 0; ; attempt++) {
    let reply: Response | null = null;
    let failure: unknown;
    try {
      reply = await fetch(request.clone());
    } catch (cause) {
      if (request.signal.aborted) throw cause;
      failure = cause;
    }
    if (reply?.status === 401 && session && !isRefreshed) {
      const next = await renewed(request, session);
      if (next) {
        isRefreshed = true;
        request = next;
        continue;
      }
    }
    const pauseMs = mayRepeat ? pauseOf(reply, attempt, rules) : null;
    if (pauseMs === null) return reply ?? unreachable(failure);
    await reply?.body?.cancel();
    await rules.sleep(pauseMs, request.signal);
  }
}

/**
 * The same request with the next access token; null when there is none. A refused request was not carried out, so any
 * may be repeated.
 */
async function renewed(request: Request, session: Session): Promise<Request | null> {
  const stale = request.headers.get("authorization")?.slice("Bearer ".length);
  if (!stale) return null;
  const accessToken = await session.refreshed(stale).catch(() => null);
  if (accessToken === null || accessToken === stale) return null;
  const next = request.clone();
  next.headers.set("authorization", `Bearer ${accessToken}`);
  return next;
}
