import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { startStack } from "@muster/local";
import { testCaFile } from "@muster/testing";
import pg from "pg";
import { administrator, type Call, callAt, newOrganization, password } from "./administrator.ts";
import { insertAgents } from "./agent-rows.ts";
import { chart } from "./growth-chart.ts";
import { growRows } from "./growth-rows.ts";
import { percentiles } from "./percentiles.ts";
import { loadAverage } from "./process-usage.ts";
import type { Report } from "./report.ts";
import { host, untilMade } from "./webhook-owners.ts";
import { type Receiver, startReceiver } from "./webhooks-cluster.ts";

const repeats = 100;
const slowRepeats = 20;
/** The first only warms up. */
const rounds = 6;
const pollMs = 4;
const patienceMs = 10_000;
/** What nothing may take longer at the largest size than at the smallest; more than rounds of one size differ by. */
const mostTimes = 1.5;
/** The first touches no table, the second counts rows one by one up to 50,000. */
const growing = new Set(["read with a cached key", "page of devices"]);

/**
 * `npm run bench -- growth [sizes] [file]`: p50 of a read with a key that no gateway knows, a page of devices, a
 * heartbeat, a row's way into the sealed chain and an event's way to its webhook, one at a time, while the tables that
 * they touch hold as many rows as each size says (10000,100000,1000000). The median of five rounds in turn; a read with
 * a key that the gateway knows touches none of the tables and shows how much the machine itself varies. The chart is
 * written into the file when one is named.
 */
export async function run([sizes = "10000,100000,1000000", file]: string[], report: Report): Promise<void> {
  const receiver = await startReceiver(1, "https", true);
  const running = await startStack({
    adminPassword: password,
    env: {
      PASSWORD_SCRYPT_LOG_N: "12",
      EGRESS_TEST_EXCEPTIONS: receiver.ports.map((port) => `${host}:${port}=127.0.0.1`).join(","),
      NODE_EXTRA_CA_CERTS: testCaFile,
    },
  });
  const owner = new pg.Client({ connectionString: running.stack.databaseUrl });
  const table: Record<string, Record<number, number>> = {};
  try {
    await owner.connect();
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const tenant = await newOrganization(root);
    const hook = {
      orgId: tenant.orgId,
      name: "Growth",
      url: `https://${host}:${receiver.ports[0]}/hook`,
      events: ["*"],
    };
    await untilMade(root, "/webhooks", { ...hook, secret: "growth" });
    let from = 0;
    for (const size of sizes.split(",").map(Number)) {
      const keys = await growRows(owner, tenant, from, size, repeats * rounds + 1);
      const key = keys.pop() ?? "";
      from = size;
      const agents = await insertAgents(running.stack.databaseUrl, [tenant], repeats);
      const { orgId } = tenant;
      const rows: [string, () => Promise<number>][] = [
        ["read with a cached key", () => median(count(repeats), () => keyed(url, key))],
        // Each round takes other keys, which no gateway knows.
        ["read with a cold key", () => median(keys.splice(0, repeats), (key) => keyed(url, key))],
        ["page of devices", () => median(count(repeats), () => taken(root, "GET", devicesOf(orgId)))],
        [
          "page, not counted",
          () => median(count(repeats), () => taken(root, "GET", `${devicesOf(orgId)}&skipCount=true`)),
        ],
        ["heartbeat", () => median(agents, (agent) => beat(url, agent))],
        ["sealed and readable", () => median(count(slowRepeats), () => sealed(root, orgId))],
        ["webhook delivered", () => delivered(root, orgId, receiver)],
      ];
      const measured = new Map(rows.map(([name]) => [name, [] as number[]]));
      for (const _round of count(rounds)) for (const [name, measure] of rows) measured.get(name)?.push(await measure());
      for (const [name, [, ...ms]] of measured) {
        const row = table[name] ?? {};
        row[size] = Math.round(percentiles(ms)(0.5) * 100) / 100;
        table[name] = row;
      }
      console.log(`${size} rows, load average ${loadAverage()}`);
    }
  } finally {
    await owner.end();
    await running.stop();
    receiver.stop();
  }
  console.table(table);
  for (const [name, row] of Object.entries(table)) {
    const ms = Object.values(row);
    const times = (ms.at(-1) ?? Number.NaN) / (ms[0] ?? Number.NaN);
    if (growing.has(name)) report.also(`${name}, largest of smallest`, times, "×");
    else report.atMost(`${name}, largest of smallest`, times, "×", mostTimes);
    report.also(`${name}, largest`, ms.at(-1) ?? Number.NaN, "ms");
  }
  if (file) writeFileSync(file, chart(table));
}

const devicesOf = (orgId: string) => `/devices?orgId=${orgId}`;

const count = (length: number) => Array.from({ length }, (_, n) => n);

/** p50 of one call per item of `of`, one after the other, in milliseconds. */
async function median<T>(of: readonly T[], call: (one: T) => Promise<void>): Promise<number> {
  const ms: number[] = [];
  for (const one of of) {
    const startedMs = performance.now();
    await call(one);
    ms.push(performance.now() - startedMs);
  }
  return percentiles(ms)(0.5);
}

async function taken(call: Call, method: string, path: string, body?: object): Promise<void> {
  const reply = await call(method, path, body);
  if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
}

async function keyed(url: string, key: string): Promise<void> {
  const reply = await fetch(`${url}/api/v1/auth/me`, { headers: { "x-api-key": key } });
  if (reply.status !== 200) throw new Error(`a key got ${reply.status}: ${await reply.text()}`);
  await reply.arrayBuffer();
}

const beat = (url: string, agent: { id: string; token: string }) =>
  taken((method, path, body) => callAt(url, agent.token, method, path, body), "POST", `/agents/${agent.id}/heartbeat`, {
    agentVersion: "1.0.0",
  });

/** From the request that makes a site until its audit row is in the list. */
async function sealed(root: Call, orgId: string): Promise<void> {
  const { status, body } = await root("POST", "/orgs/sites", { orgId, name: `Site ${randomUUID()}` });
  if (status !== 201) throw new Error(`POST /orgs/sites answered ${status}`);
  const endsMs = performance.now() + patienceMs;
  const path = `/audit-logs/logs?orgId=${orgId}&resourceId=${body.id}&limit=1&skipCount=true`;
  while (((await root("GET", path)).body.data as unknown[]).length === 0) {
    if (performance.now() > endsMs) throw new Error("an audit row did not come");
    await delay(pollMs);
  }
}

/** p50 from the event's own time to its arrival, over events that are sent one after the other. */
async function delivered(root: Call, orgId: string, receiver: Receiver): Promise<number> {
  receiver.reset();
  const ms: number[] = [];
  for (let sent = 1; sent <= slowRepeats; sent++) {
    await taken(root, "POST", "/events", { type: "alert.triggered", orgId, data: { severity: "high" } });
    const endsMs = performance.now() + patienceMs;
    // Each answer has the latencies since the one before.
    while (ms.length < sent) {
      if (performance.now() > endsMs) throw new Error("a webhook did not come");
      ms.push(...(await receiver.counts()).latencies.map(([, each]) => each));
      if (ms.length < sent) await delay(pollMs);
    }
  }
  return percentiles(ms)(0.5);
}
