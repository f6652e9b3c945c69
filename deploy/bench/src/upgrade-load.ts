import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, request } from "undici";
import type { Reply } from "./administrator.ts";
import type { BenchAgent } from "./fleet.ts";
import type { WebhookOwner } from "./webhook-owners.ts";

const callMs = 15_000;
const pauseMs = 40;

/** `requestId` is null where nothing answered. */
type Failure = { phase: string; what: string; status: number | string; code: string; requestId: string | null };

export type UpgradeLoad = {
  sites: { id: string }[];
  events: { id: string; port: number }[];
  /** Requests of each phase, by its name. */
  sent: Map<string, number>;
  /** Every request that was answered otherwise than it should be, or not at all. */
  failures: Failure[];
  revoked: number;
  admitted: number;
  /** Names the phase of the requests from now on. */
  phase(name: string): void;
  stop(): Promise<void>;
};

/**
 * Clients that never repeat a request, each over its own connection, so that each failure is seen: sites made and
 * listed, events for webhooks, audit rows, people, keys made and revoked, sign-ins, heartbeats and logs of agents.
 */
export function startUpgradeLoad(
  url: string,
  { token, key, owners, agents }: { token: string; key: string; owners: readonly WebhookOwner[]; agents: BenchAgent[] },
): UpgradeLoad {
  let current = "";
  let going = true;
  const load: UpgradeLoad = {
    sites: [],
    events: [],
    sent: new Map(),
    failures: [],
    revoked: 0,
    admitted: 0,
    phase(name) {
      current = name;
    },
    stop: async () => undefined,
  };
  const session = { authorization: `Bearer ${token}` };
  const owner = () => owners[randomInt(owners.length)] as WebhookOwner;

  type Ask = { method: "GET" | "POST" | "PUT" | "DELETE"; path: string; body?: object; headers?: object };
  const client = (what: string, once: (send: (ask: Ask, wanted: number) => Promise<Reply | null>) => Promise<void>) => {
    // One request at a time; the pool reconnects when its server closes a connection.
    const dispatcher = new Agent({ connections: 1, pipelining: 1 });
    const send = async ({ method, path, body, headers = session }: Ask, wanted: number): Promise<Reply | null> => {
      const phase = current;
      load.sent.set(phase, (load.sent.get(phase) ?? 0) + 1);
      const failed = (status: number | string, code: string, requestId: string | null = null) => {
        load.failures.push({ phase, what: `${what}: ${method} ${path.split("?")[0]}`, status, code, requestId });
        return null;
      };
      try {
        const reply = await request(`${url}/api/v1${path}`, {
          method,
          dispatcher,
          headers: { ...headers, ...(body ? { "content-type": "application/json" } : {}) },
          body: body ? JSON.stringify(body) : null,
          signal: AbortSignal.timeout(callMs),
        });
        const text = await reply.body.text();
        const answer = { status: reply.statusCode, body: JSON.parse(text) as Reply["body"] };
        if (answer.status === wanted) return answer;
        return failed(answer.status, String(answer.body.code), String(reply.headers["x-request-id"]));
      } catch (error) {
        const { code, message } = error as { code?: string; message?: string };
        return failed(code ?? "error", message ?? String(error));
      }
    };
    return (async () => {
      while (going) {
        await once(send);
        await delay(pauseMs);
      }
      await dispatcher.close();
    })();
  };

  const sites = client("sites", async (send) => {
    const { orgId } = owner();
    const made = await send({ method: "POST", path: "/orgs/sites", body: { orgId, name: `S ${randomUUID()}` } }, 201);
    if (made) load.sites.push({ id: String(made.body.id) });
    await send({ method: "GET", path: `/orgs/sites?orgId=${orgId}&limit=10` }, 200);
  });
  const events = client("events", async (send) => {
    const { orgId, port } = owner();
    const id = randomUUID();
    const body = { type: "alert.triggered", orgId, id, data: { severity: "high" } };
    if (await send({ method: "POST", path: "/events", body }, 202)) load.events.push({ id, port });
  });
  const lists = client("lists", async (send) => {
    const { orgId } = owner();
    await send({ method: "GET", path: `/audit-logs/logs?orgId=${orgId}&limit=10` }, 200);
    await send({ method: "GET", path: "/users?limit=10" }, 200);
    await send({ method: "GET", path: `/devices?orgId=${orgId}&limit=10` }, 200);
    await send({ method: "GET", path: `/webhooks?orgId=${orgId}` }, 200);
  });
  const keyed = client("key", async (send) => {
    await send({ method: "GET", path: "/auth/me", headers: { "x-api-key": key } }, 200);
  });
  const keys = client("keys", async (send) => {
    const body = { orgId: owner().orgId, name: `K ${randomUUID()}`, scopes: ["sites:read"] };
    const made = await send({ method: "POST", path: "/api-keys", body }, 201);
    if (!made) return;
    const headers = { "x-api-key": String(made.body.key) };
    await send({ method: "GET", path: "/auth/me", headers }, 200);
    if (!(await send({ method: "DELETE", path: `/api-keys/${made.body.id}` }, 200))) return;
    load.revoked += 1;
    // Any answer but 401 is a failure; an admitted request is counted separately.
    const before = load.failures.length;
    await send({ method: "GET", path: "/auth/me", headers }, 401);
    if (load.failures[before]?.status === 200) load.admitted += 1;
    await delay(pauseMs * 5);
  });
  const devices = agents.map((agent) =>
    client("agent", async (send) => {
      const headers = { authorization: `Bearer ${agent.token}` };
      const at = new Date().toISOString();
      const beat = { agentVersion: "1.0.0", metrics: { cpu: 0.25 } };
      const logs = [{ timestamp: at, level: "info", component: "bench", message: "one line" }];
      await send({ method: "POST", path: `/agents/${agent.id}/heartbeat`, body: beat, headers }, 200);
      await send({ method: "POST", path: `/agents/${agent.id}/logs`, body: { logs }, headers }, 201);
    }),
  );
  const all = Promise.all([sites, events, lists, keyed, keys, ...devices]);
  load.stop = async () => {
    going = false;
    await all;
  };
  return load;
}
