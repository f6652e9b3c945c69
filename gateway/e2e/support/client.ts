import { admin, type Cluster } from "./cluster.ts";
import { checkDocumented } from "./documented.ts";
import { noteExchange } from "./handed-out.ts";

export type Reply = { status: number; headers: Headers; body: Record<string, unknown> & { data?: unknown[] } };
/** A reply, and its body as it came. */
export type TextReply = Reply & { text: string };

export type Api = {
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TextReply>;
};

/**
 * Calls under `/api/v1`, as any client makes them: `fetch` and JSON. Throws when an answer shows an earlier secret, or
 * is not as documented.
 */
export function api(cluster: Cluster, token?: string): Api {
  return {
    async call(method, path, body, headers = {}) {
      const reply = await fetch(`${cluster.url}/api/v1${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await reply.text();
      const repeatable = "idempotency-key" in headers;
      const { status, headers: answered } = reply;
      noteExchange(cluster, { method, path, sent: body, repeatable, status, headers: answered, text });
      await checkDocumented(cluster, { method, path: `/api/v1${path}`, status, headers: answered, text });
      return { status, headers: answered, body: text === "" ? {} : JSON.parse(text), text };
    },
  };
}

export type SignedIn = { accessToken: string; refreshToken: string; user: { id: string } };

/** Signs the platform administrator in. */
export async function signIn(cluster: Cluster): Promise<SignedIn> {
  const { status, body } = await api(cluster).call("POST", "/auth/login", admin);
  if (status !== 200) throw new Error(`login answered ${status}: ${JSON.stringify(body)}`);
  return body as unknown as SignedIn;
}
