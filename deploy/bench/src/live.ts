import { setTimeout as delay } from "node:timers/promises";
import { type Channel, openChannel, syntheticEventStore } from "@muster/agent-sim";
import { startStack } from "@muster/local";
import { administrator, type Call, newOrganization, password } from "./administrator.ts";
import { enrollFleet, quantile, tokensOnly } from "./fleet.ts";
import type { Report } from "./report.ts";

const warmCalls = 50;
const calls = 400;
const settleMs = 20_000;
const openAtOnce = 50;

/**
 * `npm run bench -- live [channels]`: the answer for an offline device, what the relay adds to a query (one that is
 * answered with 404, against the stored list of the same device), and the gateway's memory per idle channel (10,000
 * when not said). Ends with status 1 beyond 50 ms, 5 ms, 30 KB.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const idle = Number(args[0] ?? 10_000);
  const running = await startStack({
    adminPassword: password,
    env: {
      PASSWORD_SCRYPT_LOG_N: "10",
      LOG_LEVEL: "warn",
      IN_FLIGHT_ORGANIZATION_PERCENT: "100",
      AGENT_CACHE_MAX: "100000",
    },
  });
  const channels: Channel[] = [];
  try {
    const gateway = running.stack.gateways[0];
    if (!gateway) throw new Error("there is no gateway");
    const root = await administrator(gateway.url);
    const owner = await newOrganization(root);
    const [offline, online] = await enrollFleet(root, gateway.url, owner.orgId, 2);
    if (!offline || !online) throw new Error("no agents were enrolled");
    const open = ({ id, token }: { id: string; token: string }, store = idleStore) => {
      const channel = openChannel({ baseUrl: () => gateway.url, agentId: id, token: () => token, store });
      channels.push(channel);
      return until(() => channel.connected);
    };
    await open(online, syntheticEventStore({ os: "linux", hostname: "bench", records: 100 }));

    const live = `/system-tools/devices/${online.id}/eventlogs`;
    // Alternately, so that what else the machine does meets them all. An answer that shows nothing leaves no audit row:
    // what it takes longer than a stored list is the relay and the agent.
    const [offlineMs, liveMs, relayMs, storedMs] = (await timedInTurns(root, [
      [`/system-tools/devices/${offline.id}/eventlogs`, 503],
      [live, 200],
      [`${live}/Nothing`, 404],
      [`/devices/${online.id}/eventlogs`, 200],
    ])) as [number[], number[], number[], number[]];
    const overheadMs = quantile(relayMs, 0.5) - quantile(storedMs, 0.5);
    const row = (what: string, ms: number[]) => {
      const at = (share: number) => Math.round(quantile(ms, share) * 10) / 10;
      return { what, "p50 ms": at(0.5), "p95 ms": at(0.95), "max ms": at(1) };
    };
    console.table([
      row("offline device", offlineMs),
      row("live query, audited", liveMs),
      row("live query, 404", relayMs),
      row("stored list", storedMs),
    ]);
    console.log(`relay overhead, p50: ${overheadMs.toFixed(1)} ms`);

    const agents = await tokensOnly(running.stack.databaseUrl, owner, idle);
    // Warm: the first channels pay for code that is not compiled yet.
    const warm = agents.splice(0, Math.min(500, Math.floor(idle / 10)));
    await openAll(warm, open);
    await delay(settleMs);
    const before = await residentBytes(gateway.ops);
    const startedMs = performance.now();
    await openAll(agents, open);
    const openedMs = performance.now() - startedMs;
    await delay(settleMs);
    const after = await residentBytes(gateway.ops);
    const perChannel = (after - before) / agents.length / 1024;
    console.table([
      {
        channels: warm.length + agents.length,
        "opened in s": Math.round(openedMs / 100) / 10,
        "RSS before MB": Math.round(before / 1_048_576),
        "RSS after MB": Math.round(after / 1_048_576),
        "KB a channel": Math.round(perChannel * 10) / 10,
      },
    ]);
    const alive = channels.filter(({ connected }) => connected).length;
    report.atMost("offline device, p95", quantile(offlineMs, 0.95), "ms", 50);
    report.atMost("relay's part, p50", overheadMs, "ms", 5);
    report.atMost("an idle channel", perChannel, "KB", 30);
    report.none({ "channels lost": channels.length - alive });
    report.also("channels", channels.length, "");
    report.also("offline device, p50", quantile(offlineMs, 0.5), "ms");
    report.also("live query, audited, p50", quantile(liveMs, 0.5), "ms");
    report.also("stored list, p50", quantile(storedMs, 0.5), "ms");
    console.log(`${alive} of ${channels.length} channels are open`);
    if (quantile(offlineMs, 0.95) > 50 || overheadMs > 5 || perChannel > 30 || alive < channels.length)
      process.exitCode = 1;
  } finally {
    for (const channel of channels) channel.stop();
    await running.stop();
  }
}

const idleStore = syntheticEventStore({ os: "linux", hostname: "idle", records: 1 });

async function openAll<A>(agents: readonly A[], open: (agent: A) => Promise<void>): Promise<void> {
  for (let at = 0; at < agents.length; at += openAtOnce) {
    await Promise.all(agents.slice(at, at + openAtOnce).map((agent) => open(agent)));
  }
}

async function timedInTurns(
  root: Call,
  paths: readonly (readonly [path: string, status: number])[],
): Promise<number[][]> {
  const tookMs: number[][] = paths.map(() => []);
  for (let i = 0; i < warmCalls + calls; i++) {
    for (const [at, [path, status]] of paths.entries()) {
      const startedMs = performance.now();
      const reply = await root("GET", path);
      if (reply.status !== status)
        throw new Error(`GET ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
      if (i >= warmCalls) tookMs[at]?.push(performance.now() - startedMs);
    }
  }
  return tookMs.map((ms) => ms.sort((a, b) => a - b));
}

async function residentBytes(ops: string): Promise<number> {
  const text = await (await fetch(`${ops}/metrics`)).text();
  const found = /^process_resident_memory_bytes (\S+)/m.exec(text);
  if (!found) throw new Error("the gateway does not say how much memory it holds");
  return Number(found[1]);
}

async function until(probe: () => boolean): Promise<void> {
  for (let tries = 0; !probe(); tries++) {
    if (tries > 6_000) throw new Error("a channel did not open within a minute");
    await delay(10);
  }
}
