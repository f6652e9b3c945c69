import { randomUUID } from "node:crypto";

type Document = { paths: Record<string, Record<string, unknown>> };

/** Would end the sessions of the caller, or wait for messages that do not come. */
const leftOut = /^((POST|DELETE) \/auth\/|GET \/devices\/changes)/;
const methods = ["get", "post", "put", "patch", "delete"];
const callMs = 15_000;
/** No device has an agent that is connected. */
const named = ["device_offline"];

/** A sentence of an operation that a server failed, and the id by which its programs logged it. */
export type RouteFailure = { sentence: string; requestId: string | null };

/**
 * Calls each operation of the API once, with ids that no record has and an empty body: whatever serves it reads the
 * request, and no answer is a failure of a server. Returns the number of calls, and the failures.
 */
export async function callEveryRoute(url: string, token: string): Promise<{ calls: number; failures: RouteFailure[] }> {
  const headers = { authorization: `Bearer ${token}` };
  const document = await fetch(`${url}/api/v1/openapi.json`, { headers });
  const { paths } = (await document.json()) as Document;
  const operations = Object.entries(paths)
    .flatMap(([path, item]) => methods.filter((method) => method in item).map((method) => ({ method, path })))
    .map(({ method, path }) => ({ method: method.toUpperCase(), path: path.replace(/^\/api\/v1/, "") }))
    .filter(({ method, path }) => !leftOut.test(`${method} ${path}`));
  const failures: RouteFailure[] = [];
  for (const { method, path } of operations) {
    const to = `${url}/api/v1${path.replace(/\{[^}]+\}/g, () => randomUUID())}`;
    const hasBody = method !== "GET" && method !== "DELETE";
    const sent: Record<string, string> = { ...headers, ...(hasBody ? { "content-type": "application/json" } : {}) };
    const signal = AbortSignal.timeout(callMs);
    try {
      const body = hasBody ? "{}" : null;
      const reply = await fetch(to, { method, body, headers: sent, redirect: "manual", signal });
      const text = await reply.text();
      const code = /"code":"(\w+)"/.exec(text)?.[1] ?? "";
      if (reply.status < 500 || named.includes(code)) continue;
      const requestId = /"requestId":"([\w-]+)"/.exec(text)?.[1] ?? null;
      failures.push({ sentence: `${method} ${path}: ${reply.status} ${code}`, requestId });
    } catch (error) {
      failures.push({ sentence: `${method} ${path}: ${error}`, requestId: null });
    }
  }
  return { calls: operations.length, failures };
}
