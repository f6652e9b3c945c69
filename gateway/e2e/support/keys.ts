import type { Api, Reply } from "./client.ts";

export type NewKey = { id: string; key: string };

/** A new API key of the organization; the caller needs a completed second factor. */
export async function newKey(root: Api, orgId: string, fields: Record<string, unknown> = {}): Promise<NewKey> {
  const wanted = { orgId, name: "Test key", scopes: [], ...fields };
  const { status, body } = await root.call("POST", "/api-keys", wanted);
  if (status !== 201) throw new Error(`POST /api-keys answered ${status}: ${JSON.stringify(body)}`);
  return { id: String(body.id), key: String(body.key) };
}

/** One request to GET /auth/me of a gateway with an API key. */
export async function me(url: string, key: string): Promise<Reply> {
  const reply = await fetch(`${url}/api/v1/auth/me`, { headers: { "x-api-key": key } });
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Reply["body"] };
}

export type RateHeaders = { limit: number; remaining: number; reset: number; retryAfter: number | null };

/** The rate headers of a reply; throws when they contradict one another. */
export function rateOf({ status, headers }: Pick<Reply, "status" | "headers">): RateHeaders {
  const number = (name: string) => {
    const text = headers.get(name);
    if (text === null || !/^\d+$/.test(text)) throw new Error(`${name} is ${text}`);
    return Number(text);
  };
  const [limit, remaining, reset] = [
    number("x-ratelimit-limit"),
    number("x-ratelimit-remaining"),
    number("x-ratelimit-reset"),
  ];
  const retryAfter = status === 429 ? number("retry-after") : null;
  // The gateway's own clock when it answered: reading the answer may take a while.
  const now = Date.parse(headers.get("date") ?? "") / 1000;
  const ietf = /^"hourly";r=(\d+);t=(\d+)$/.exec(headers.get("ratelimit") ?? "");
  const wrong = [
    [remaining > limit, "remaining exceeds the limit"],
    [retryAfter !== null && remaining !== 0, "a refusal leaves something"],
    [retryAfter !== null && Math.abs(now + retryAfter - reset) > 2, "Retry-After and Reset differ"],
    [reset < now - 1 || reset > now + 3_725, "reset is not within the window"],
    [Number(ietf?.[1]) !== remaining, "RateLimit has another remaining"],
    [Math.abs(now + Number(ietf?.[2]) - reset) > 2, "RateLimit has another reset"],
    [headers.get("ratelimit-policy") !== `"hourly";q=${limit};w=3600`, "RateLimit-Policy has another limit"],
  ].find(([isWrong]) => isWrong);
  if (wrong) throw new Error(`${wrong[1]}: ${JSON.stringify({ status, ...Object.fromEntries(headers) })}`);
  return { limit, remaining, reset, retryAfter };
}
