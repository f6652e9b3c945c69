import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";

type Document = { paths: Record<string, Record<string, unknown>> };

/** Would end the sessions of the caller, or wait for messages that do not come. */
const leftOut = /^((POST|DELETE) \/auth\/|GET \/devices\/changes)/;
const methods = ["get", "post", "put", "patch", "delete"];
const callMs = 15_000;
/** No device has an agent that is connected. */
const named = ["device_offline"];

/** A sentence of an operation that a server failed, and the id by which its programs logged it. */
export type RouteFailure = { sentence: string; requestId: string | null };

/** Operations of the API of the version that has most of those which answer, as "GET /devices/{id}". */
export async function routesOf(url: string, token: string): Promise<string[]> {
  // A connection each: the address hands them to the gateways in turn.
  const documents = [await documentOf(url, token), await documentOf(url, token)];
  const [operations = []] = documents.map(operationsIn).sort((a, b) => b.length - a.length);
  return operations.filter((operation) => !leftOut.test(operation));
}

const operationsIn = ({ paths }: Document) =>
  Object.entries(paths)
    .flatMap(([path, item]) => methods.filter((method) => method in item).map((method) => ({ method, path })))
    .map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/^\/api\/v1/, "")}`);

async function documentOf(url: string, token: string): Promise<Document> {
  const headers = { authorization: `Bearer ${token}` };
  const request = get(`${url}/api/v1/openapi.json`, { agent: false, headers });
  const [reply] = (await once(request, "response")) as [IncomingMessage];
  return (await json(reply)) as Document;
}

/**
 * Calls each operation of the API once, with ids that no record has and an empty body: whatever serves it reads the
 * request, and no answer is a failure of a server; only those that the `old` version has not may be unavailable, while
 * their service is of it. Returns the number of calls, and the failures.
 */
export async function callEveryRoute(
  url: string,
  token: string,
  old: readonly string[],
): Promise<{ calls: number; failures: RouteFailure[] }> {
  const headers = { authorization: `Bearer ${token}` };
  const operations = await routesOf(url, token);
  const failures: RouteFailure[] = [];
  for (const operation of operations) {
    const [method = "", path = ""] = operation.split(" ");
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
      if (code === "unavailable" && !old.includes(operation)) continue;
      const requestId = /"requestId":"([\w-]+)"/.exec(text)?.[1] ?? null;
      failures.push({ sentence: `${operation}: ${reply.status} ${code}`, requestId });
    } catch (error) {
      failures.push({ sentence: `${operation}: ${error}`, requestId: null });
    }
  }
  return { calls: operations.length, failures };
}
