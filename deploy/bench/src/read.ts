import { startStack } from "@muster/local";
import { type Round, startBare, startClient } from "./bare-server.ts";
import { cpuMicros } from "./cpu.ts";
import { loadAverage } from "./process-usage.ts";
import type { Report } from "./report.ts";

const connections = 32;
const rounds = 5;
const leastPerSecond = 2_500;
const leastShare = 0.04;
const mostTimes = 40;
const warmMs = 3_000;
const roundMs = 3_000;
const password = "correct horse battery staple";

/**
 * `npm run bench -- read`: GET /orgs/sites with a session, one whole hop to PostgreSQL and back, on a separate cluster;
 * by turns with a bare node:http server that answers the same bytes. Status 1 below 4 % of it, or above 40 times its
 * CPU.
 */
export async function run(_args: string[], report: Report): Promise<void> {
  const running = await startStack({
    adminPassword: password,
    env: { NODE_ENV: "development", SESSION_RATE_LIMIT: "1000000000" },
  });
  try {
    const [gateway] = running.stack.gateways;
    if (!gateway) throw new Error("the cluster has no gateway");
    const { token, path } = await prepare(gateway.url);
    const client = await startClient(new URL(gateway.url).port, token, path);
    const body = await (await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } })).text();
    const bare = await startBare(body, token, path);
    await client.round(warmMs);
    await bare.round(warmMs);
    const used = new Map<string, number>();
    const results: Round[] = [];
    const bareResults: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = cpuMicros(running);
      results.push(await client.round(roundMs));
      for (const [name, micros] of cpuMicros(running)) {
        used.set(name, (used.get(name) ?? 0) + micros - (before.get(name) ?? 0));
      }
      bareResults.push(await bare.round(roundMs));
    }
    client.stop();
    const bareCpuUs = await bare.stop();
    print(results, used, bareResults, bareCpuUs, report);
  } finally {
    await running.stop();
  }
}

/** A partner with an organization of ten sites; the list of one page is what is read. */
async function prepare(url: string): Promise<{ token: string; path: string }> {
  const call = async (path: string, body: object, token?: string) => {
    const reply = await fetch(`${url}/api/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify(body),
    });
    const answer = (await reply.json()) as Record<string, string>;
    if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const { accessToken } = await call("/auth/login", { email: "admin@muster.local", password });
  const partner = await call("/orgs/partners", { name: "Bench", slug: "bench" }, accessToken);
  const wanted = { partnerId: partner.id, name: "Bench", slug: "bench" };
  const organization = await call("/orgs/organizations", wanted, accessToken);
  for (let i = 0; i < 10; i++) await call("/orgs/sites", { orgId: organization.id, name: `Site ${i}` }, accessToken);
  return { token: accessToken as string, path: `/api/v1/orgs/sites?orgId=${organization.id}&limit=10` };
}

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const perSecond = (results: readonly Round[]) => median(results.map((r) => r.requests / r.seconds));
const requestsOf = (results: readonly Round[]) => results.reduce((sum, r) => sum + r.requests, 0);

function print(
  results: readonly Round[],
  used: Map<string, number>,
  bare: readonly Round[],
  bareCpuUs: number,
  report: Report,
): void {
  const cpu = [...used].map(([name, micros]) => [`${name} CPU µs`, Math.round(micros / requestsOf(results))]);
  const share = perSecond(results) / perSecond(bare);
  const times =
    [...used.values()].reduce((sum, micros) => sum + micros, 0) / requestsOf(results) / (bareCpuUs / requestsOf(bare));
  console.log(
    `GET /orgs/sites, ${connections} connections, medians of ${rounds} rounds of ${roundMs / 1000} s, load average ${loadAverage()}`,
  );
  console.table([
    {
      "requests/s": Math.round(perSecond(results)),
      "of bare node:http": `${(share * 100).toFixed(1)} %`,
      "its CPU": `${times.toFixed(1)} ×`,
      "p50 µs": Math.round(median(results.map((r) => r.p50))),
      "p95 µs": Math.round(median(results.map((r) => r.p95))),
      "p99 µs": Math.round(median(results.map((r) => r.p99))),
      ...Object.fromEntries(cpu),
    },
  ]);
  console.table([
    {
      "bare requests/s": Math.round(perSecond(bare)),
      "CPU µs": (bareCpuUs / requestsOf(bare)).toFixed(1),
    },
  ]);
  report.atLeast("GET /orgs/sites", perSecond(results), "requests/s", leastPerSecond);
  report.atLeast("of a bare node:http", 100 * share, "%", 100 * leastShare);
  report.atMost("CPU, of a bare node:http", times, "×", mostTimes);
  report.also("p50", median(results.map((r) => r.p50)) / 1_000, "ms");
  report.also("p99", median(results.map((r) => r.p99)) / 1_000, "ms");
  for (const [name, micros] of used) report.also(`${name}, CPU`, micros / requestsOf(results), "µs a request");
  report.also("bare node:http", perSecond(bare), "requests/s");
  if (share < leastShare || times > mostTimes) process.exitCode = 1;
}
