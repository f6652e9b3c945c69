import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningStack, startStack } from "@muster/local";
import { testCaFile } from "@muster/testing";
import pg from "pg";
import { killOne } from "./kill-one.ts";
import type { Report } from "./report.ts";
import { type Receiver, startReceiver } from "./webhooks-cluster.ts";

const password = "correct horse battery staple";
const host = "bench.example.test";
const origins = 10;
const dispatchers = 3;
const clients = 4;
const settleMs = 180_000;
const leaseMs = 10_000;
const isVictim = (name: string) => name.startsWith("webhook-dispatcher") || name === "nats" || name === "postgresql";

/** After the last kill, the lease and this time, no delivery may be due for a second or longer any more. */
const calmMs = 2_000;

type Emitted = { id: string; orgId: string };
type Hook = { id: string; orgId: string; port: number };

/**
 * `npm run bench -- webhooks-chaos [kills] [least] [most]`: kill −9 of a random dispatcher (three of them match and
 * send), NATS or PostgreSQL every `least` to `most` seconds (by default 20 kills, 2 to 6 s apart; the required measure
 * is 50, 5 to 20 s apart) while clients emit events over HTTP, some of them twice and some under the same id in two
 * organizations. Then counts at the receiver: every acknowledged event at every webhook, and no repeat that is neither
 * marked as possible nor a retry. Then, while the load continues after the last kill, until when a delivery was due for
 * a second or longer. Status 1 when one of them does not hold.
 */
export async function run([kills = "20", least = "2", most = "6"]: string[], report: Report): Promise<void> {
  const receiver = await startReceiver(origins, "https", true);
  const running = await startStack({
    adminPassword: password,
    env: {
      PASSWORD_SCRYPT_LOG_N: "12",
      MUSTER_REPLICAS: `webhook-dispatcher=${dispatchers}`,
      EGRESS_TEST_EXCEPTIONS: receiver.ports.map((port) => `${host}:${port}=127.0.0.1`).join(","),
      NODE_EXTRA_CA_CERTS: testCaFile,
      // So that what a killed sender held comes back within the bench.
      DELIVERY_LEASE_MS: String(leaseMs),
      DELIVERY_TIMEOUT_MS: "5000",
    },
  });
  try {
    const call = await signedIn(running);
    const hooks = await makeHooks(call, receiver);
    const load = startLoad(call, hooks);
    const killed: string[] = [];
    for (let i = 0; i < Math.min(Number(kills), 200); i++) {
      await delay(1_000 * (Number(least) + Math.random() * (Number(most) - Number(least))));
      killed.push(killOne(running, isVictim));
    }
    const calmAfterMs = await calmAfter(running);
    const emitted = await load.stop();
    const wanted = new Set(
      emitted.flatMap(({ id, orgId }) => hooks.filter((h) => h.orgId === orgId).map((h) => `${h.port} ${id}`)),
    );
    const began = performance.now();
    let missing = wanted.size;
    while (missing > 0 && performance.now() - began < settleMs) {
      await delay(500);
      const arrived = await receiver.arrivals();
      missing = [...wanted].filter((each) => !arrived.has(each)).length;
    }
    const { requests, flagged, silentRepeats } = await receiver.counts();
    const stored = await facts(running);
    console.log(`killed: ${killed.join(", ")}`);
    console.table([
      {
        kills: killed.length,
        events: emitted.length,
        deliveries: wanted.size,
        requests,
        "flagged as possible repeats": flagged,
        "interrupted attempts on record": stored.interrupted,
        "lost deliveries": missing,
        "silent repeats": silentRepeats,
        "doubled records": stored.doubled,
        "settled after s": Math.round((performance.now() - began) / 100) / 10,
        [`nothing due for a second after s (≤ ${(leaseMs + calmMs) / 1_000})`]: calmAfterMs / 1_000,
      },
    ]);
    report.none({
      "lost deliveries": missing,
      "silent repeats": silentRepeats,
      "doubled records": stored.doubled,
    });
    report.atMost("due for a second after the last kill", calmAfterMs / 1_000, "s", (leaseMs + calmMs) / 1_000);
    report.also("kills", killed.length, "");
    report.also("events", emitted.length, "");
    report.also("deliveries", wanted.size, "");
    report.also("flagged as possible repeats", flagged, "");
    report.also("interrupted attempts on record", stored.interrupted, "");
    if (missing + silentRepeats + stored.doubled > 0 || calmAfterMs > leaseMs + calmMs) process.exitCode = 1;
  } finally {
    await running.stop();
    receiver.stop();
  }
}

type Call = (method: string, path: string, body?: object) => Promise<{ status: number; body: Record<string, unknown> }>;

/** Calls as the platform administrator, again with a new session when the old one is refused. */
async function signedIn(running: RunningStack): Promise<Call> {
  const url = running.stack.gateways[0]?.url ?? "";
  let token = "";
  const once = async (method: string, path: string, body?: object) => {
    const headers = { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const init = {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(10_000),
    };
    const reply = await fetch(`${url}/api/v1${path}`, init);
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
  };
  return async (method, path, body) => {
    for (let attempt = 0; ; attempt++) {
      if (token === "") {
        const { status, body: session } = await once("POST", "/auth/login", { email: "admin@muster.local", password });
        if (status === 200) token = String(session.accessToken);
      }
      const answered = await once(method, path, body);
      if (answered.status !== 401 || attempt > 3) return answered;
      token = "";
    }
  };
}

async function makeHooks(call: Call, receiver: Receiver): Promise<Hook[]> {
  const made = async (path: string, body: object): Promise<string> => {
    const { status, body: reply } = await call("POST", path, body);
    if (status !== 201) throw new Error(`POST ${path} answered ${status}: ${JSON.stringify(reply)}`);
    return String(reply.id);
  };
  const partnerId = await made("/orgs/partners", { name: "Chaos", slug: `c-${randomUUID()}` });
  const hooks: Hook[] = [];
  for (let n = 0; n < origins / 2; n++) {
    const orgId = await made("/orgs/organizations", { partnerId, name: "Chaos", slug: `c-${randomUUID()}` });
    for (const port of receiver.ports.slice(2 * n, 2 * n + 2)) {
      const url = `https://${host}:${port}/hook`;
      hooks.push({
        id: await made("/webhooks", { orgId, name: "Chaos", url, secret: "chaos", events: ["*"] }),
        orgId,
        port,
      });
    }
  }
  return hooks;
}

function startLoad(call: Call, hooks: readonly Hook[]) {
  const orgIds = [...new Set(hooks.map(({ orgId }) => orgId))];
  const emitted: Emitted[] = [];
  let going = true;
  /** Again until it is acknowledged: what was stored by a try whose answer was lost is a repeat then. */
  const emit = async (orgId: string, id: string) => {
    const event = { type: "alert.triggered", orgId, id, data: { severity: "high", text: "x".repeat(300) } };
    for (;;) {
      const answered = await call("POST", "/events", event).catch(() => null);
      if (answered?.status === 202) break;
      if (!going && answered === null) return;
      await delay(50);
    }
    emitted.push({ id, orgId });
  };
  const one = async () => {
    while (going) {
      const [orgId = "", other = ""] = [orgIds[randomInt(orgIds.length)], orgIds[randomInt(orgIds.length)]];
      const id = randomUUID();
      await emit(orgId, id);
      if (randomInt(10) === 0) await emit(orgId, id);
      if (randomInt(10) === 0 && other !== orgId) await emit(other, id);
      await delay(5);
    }
  };
  const all = Promise.all(Array.from({ length: clients }, one));
  return {
    async stop() {
      going = false;
      await all;
      return emitted;
    },
  };
}

/** Milliseconds from now until which something was due for a second or longer, looked at for twice the lease. */
async function calmAfter(running: RunningStack): Promise<number> {
  const began = performance.now();
  let late = 0;
  while (performance.now() - began < 2 * leaseMs) {
    const oldest = await oldestDueSeconds(running).catch(() => Number.POSITIVE_INFINITY);
    if (oldest >= 1) late = Math.round(performance.now() - began);
    await delay(250);
  }
  return late;
}

async function oldestDueSeconds(running: RunningStack): Promise<number> {
  const client = new pg.Client({ connectionString: running.refresh().databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ oldest: number }>(
      `SELECT coalesce(extract(epoch FROM now() - min(due_at)), 0)::float8 AS oldest FROM webhook_dispatcher.webhook_queue`,
    );
    return rows[0]?.oldest ?? 0;
  } finally {
    await client.end();
  }
}

/** What the dispatcher has on record: attempts that ended unseen, and events with two deliveries to one webhook. */
async function facts(running: RunningStack): Promise<{ interrupted: number; doubled: number }> {
  const client = new pg.Client({ connectionString: running.refresh().databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ interrupted: number; doubled: number }>(
      `SELECT (SELECT count(*)::int FROM webhook_dispatcher.webhook_attempts WHERE interrupted) AS interrupted,
              (SELECT count(*)::int FROM (SELECT FROM webhook_dispatcher.webhook_deliveries
                                          GROUP BY webhook_id, org_id, event_id HAVING count(*) > 1) d) AS doubled`,
    );
    return rows[0] ?? { interrupted: 0, doubled: 0 };
  } finally {
    await client.end();
  }
}
