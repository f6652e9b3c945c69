import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { enrollFleet } from "./fleet.ts";
import { untilMade, type WebhookOwner, webhookOwners } from "./webhook-owners.ts";
import type { Receiver } from "./webhooks-cluster.ts";

const callMs = 15_000;
const organizations = 4;

type Reply = { status: number; body: Record<string, unknown> };

export type Load = {
  /**
   * Acknowledged creations of sites, by id, with the times (`performance.now()`) at which each was sent and
   * acknowledged.
   */
  sites: { id: string; orgId: string; sentMs: number; ackedMs: number }[];
  /** Acknowledged events. */
  events: { id: string; orgId: string; port: number }[];
  /** When a read with an API key was answered with 200. */
  reads: number[];
  /** When such a read got another answer or none. */
  refusedReads: number[];
  /** Keys whose revocation was acknowledged. */
  revoked: number;
  /** Reads with such a key that were let in. */
  admitted: number;
  /** Heartbeats of an agent that were acknowledged. */
  heartbeats: number;
  /** Whether its device was seen last before one of them was sent. */
  isSeenTooEarly(): Promise<boolean>;
  /** Creations and events that had to be sent again. */
  again: number;
  stop(): Promise<void>;
};

/**
 * Five clients: one creates sites, one emits events for webhooks, one reads with an API key, one makes keys, revokes
 * them and goes on trying the revoked, one is an agent. Each sends again what was not acknowledged, and counts it once.
 */
export async function startLoad(gatewayUrl: string, token: string, receiver: Receiver): Promise<Load> {
  const once = async (
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Reply> => {
    const reply = await fetch(`${gatewayUrl}/api/v1${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(callMs),
    });
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
  };
  const call = (method: string, path: string, body?: object, headers?: Record<string, string>) =>
    once(method, path, body, { authorization: `Bearer ${token}`, ...headers });
  const owners = await webhookOwners(call, receiver.ports.slice(0, organizations));
  const owner = () => owners[randomInt(owners.length)] as WebhookOwner;
  const newKey = (orgId: string) => ({ orgId, name: `Failover ${randomUUID()}`, scopes: ["sites:read"] });
  // Answered by the gateway itself, from what it knows of the key.
  const keyed = (key: string) => once("GET", "/auth/me", undefined, { "x-api-key": key });

  const [agent] = await enrollFleet(call, gatewayUrl, owner().orgId, 1);
  if (!agent) throw new Error("no agent was enrolled");
  /** When the last heartbeat that was acknowledged was sent, milliseconds since 1970. */
  let beatSentMs = 0;
  const load: Load = {
    sites: [],
    events: [],
    reads: [],
    refusedReads: [],
    revoked: 0,
    admitted: 0,
    again: 0,
    heartbeats: 0,
    isSeenTooEarly: async () => {
      const { body } = await call("GET", `/devices/${agent.id}`);
      return beatSentMs > Date.parse(String(body.lastSeenAt));
    },
    stop: async () => undefined,
  };
  let going = true;
  const untilTaken = async (attempt: () => Promise<boolean>) => {
    while (!(await attempt().catch(() => false))) {
      if (!going) return false;
      load.again += 1;
      await delay(50);
    }
    return true;
  };
  const creating = async () => {
    while (going) {
      const { orgId } = owner();
      // The same Idempotency-Key on each try: what was carried out without an answer is answered then.
      const headers = { "idempotency-key": randomUUID() };
      const site = { orgId, name: `Site ${randomUUID()}` };
      let sentMs = 0;
      let id = "";
      const taken = await untilTaken(async () => {
        sentMs = performance.now();
        const reply = await call("POST", "/orgs/sites", site, headers);
        id = String(reply.body.id);
        return reply.status === 201;
      });
      if (taken) load.sites.push({ id, orgId, sentMs, ackedMs: performance.now() });
      await delay(5);
    }
  };
  const emitting = async () => {
    while (going) {
      const { orgId, port } = owner();
      const id = randomUUID();
      const event = { type: "alert.triggered", orgId, id, data: { severity: "high", text: "x".repeat(300) } };
      const taken = await untilTaken(async () => (await call("POST", "/events", event)).status === 202);
      if (taken) load.events.push({ id, orgId, port });
      await delay(5);
    }
  };
  const reading = async (key: string) => {
    while (going) {
      const reply = await keyed(key).catch(() => null);
      (reply?.status === 200 ? load.reads : load.refusedReads).push(performance.now());
      await delay(20);
    }
  };
  const revoking = async () => {
    const revoked: string[] = [];
    while (going) {
      const { orgId } = owner();
      const reply = await call("POST", "/api-keys", newKey(orgId)).catch(() => null);
      if (reply?.status === 201) {
        const { id, key } = reply.body as { id: string; key: string };
        // Known at the gateway before it goes.
        await keyed(key).catch(() => null);
        const gone = await untilTaken(async () => (await call("DELETE", `/api-keys/${id}`)).status === 200);
        if (gone) {
          load.revoked += 1;
          revoked.push(key);
        }
      }
      const tried = revoked[randomInt(Math.max(1, revoked.length))];
      if (tried && (await keyed(tried).catch(() => null))?.status === 200) load.admitted += 1;
      await delay(100);
    }
  };
  const beating = async () => {
    const headers = { authorization: `Bearer ${agent.token}` };
    while (going) {
      let sentMs = 0;
      const taken = await untilTaken(async () => {
        sentMs = Date.now();
        const beat = { agentVersion: "1.0.0", metrics: { cpu: 0.25 } };
        return (await once("POST", `/agents/${agent.id}/heartbeat`, beat, headers)).status === 200;
      });
      if (taken) {
        load.heartbeats += 1;
        beatSentMs = sentMs;
      }
      await delay(100);
    }
  };
  const { orgId } = owner();
  const { key } = await untilMade(call, "/api-keys", { ...newKey(orgId), rateLimit: 100_000 });
  const all = Promise.all([creating(), emitting(), reading(String(key)), revoking(), beating()]);
  load.stop = async () => {
    going = false;
    await all;
  };
  return load;
}
