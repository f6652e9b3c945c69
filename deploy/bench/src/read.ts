import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startStack } from "@muster/local";
import { cpuMicros } from "./cpu.ts";

const connections = 32;
const rounds = 5;
const warmMs = 3_000;
const roundMs = 3_000;
const password = "correct horse battery staple";

type Round = { requests: number; seconds: number; p50: number; p95: number; p99: number };

/** `npm run bench -- read`: GET /orgs/sites with a session, one whole hop to PostgreSQL and back, on a cluster of its own. */
export async function run(): Promise<void> {
  const running = await startStack({
    adminPassword: password,
    env: { NODE_ENV: "development", SESSION_RATE_LIMIT: "1000000000" },
  });
  try {
    const [gateway] = running.stack.gateways;
    if (!gateway) throw new Error("the cluster has no gateway");
    const { token, path } = await prepare(gateway.url);
    const client = fork(fileURLToPath(new URL("./http-client.js", import.meta.url)), [
      new URL(gateway.url).port,
      token,
      String(connections),
      path,
    ]);
    await once(client, "message");
    const measure = async (ms: number): Promise<Round> => {
      const answered = once(client, "message");
      client.send({ ms });
      return (await answered)[0] as Round;
    };
    await measure(warmMs);
    const before = cpuMicros(running);
    const results: Round[] = [];
    for (let round = 0; round < rounds; round++) results.push(await measure(roundMs));
    const after = cpuMicros(running);
    client.kill();
    print(results, before, after);
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

function print(results: readonly Round[], before: Map<string, number>, after: Map<string, number>): void {
  const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const requests = results.reduce((sum, r) => sum + r.requests, 0);
  const cpu = [...after].map(([name, micros]) => [
    `${name} CPU µs/request`,
    Math.round((micros - (before.get(name) ?? 0)) / requests),
  ]);
  console.log(`GET /orgs/sites, ${connections} connections, medians of ${rounds} rounds of ${roundMs / 1000} s`);
  console.table([
    {
      "requests/s": Math.round(median(results.map((r) => r.requests / r.seconds))),
      "p50 µs": Math.round(median(results.map((r) => r.p50))),
      "p95 µs": Math.round(median(results.map((r) => r.p95))),
      "p99 µs": Math.round(median(results.map((r) => r.p99))),
      ...Object.fromEntries(cpu),
    },
  ]);
}
