import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { generateNkey } from "@muster/bus";
import { type BenchIdentity, startBenchIdentity } from "./http-identity.ts";

const connections = 32;
const rounds = 5;
const warmMs = 2_000;
const roundMs = 1_500;
const answerMs = 30_000;

type Usage = { cpuUs: number; rss: number };
type Server = { label: string; child: ChildProcess; client: ChildProcess; usage(): Promise<Usage> };
type Round = { requests: number; seconds: number; p50: number; p95: number; p99: number };
type Measured = Round & { cpuUs: number; rss: number };

/** `npm run bench -- http`: raw node:http, Express 5 and GET /auth/me through the gateway, in turns, then one table of medians. */
export async function run(_args: string[] = []): Promise<void> {
  const identity = await startBenchIdentity();
  const servers: Server[] = [];
  try {
    const { server: gateway, body } = await startGateway(identity);
    servers.push(gateway);
    servers.unshift(await startBaseline("node:http", body, identity.accessToken));
    servers.push(await startBaseline("express", body, identity.accessToken));
    const measured = new Map<string, Measured[]>(servers.map(({ label }) => [label, []]));
    for (const server of servers) await measure(server, warmMs);
    for (let round = 0; round < rounds; round++) {
      for (const server of servers) measured.get(server.label)?.push(await measure(server, roundMs));
    }
    print(measured, body.length);
  } finally {
    for (const { client, child } of servers) {
      client.kill();
      child.kill();
    }
    await identity.close();
  }
}

export const http = { name: "http", run };

async function startGateway(identity: BenchIdentity): Promise<{ server: Server; body: string }> {
  const child = fork(fileURLToPath(new URL("../../../gateway/dist/main.js", import.meta.url)), [], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: "production",
      LOG_LEVEL: "info",
      HOST: "127.0.0.1",
      PORT: "0",
      OPS_HOST: "127.0.0.1",
      OPS_PORT: "0",
      IDENTITY_URL: identity.url,
      TENANCY_URL: identity.url,
      AUDIT_URL: identity.url,
      DEVICE_LOGS_URL: identity.url,
      WEBHOOK_DISPATCHER_URL: identity.url,
      AGENT_RELEASE_URL: identity.url,
      // Nobody answers there: sessions live by the cache's own age.
      NATS_URL: "nats://127.0.0.1:1",
      NATS_NKEY_SEED: generateNkey().seed,
      CALLER_PRIVATE_KEYS: identity.callerKeys,
    },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const { http: port, ops } = await answer<{ http: number; ops: number }>(child);
  const reply = await fetch(`http://127.0.0.1:${port}/api/v1/auth/me`, {
    headers: { authorization: `Bearer ${identity.accessToken}` },
  });
  const body = await reply.text();
  if (reply.status !== 200) throw new Error(`the gateway answered ${reply.status}: ${body}`);
  const usage = () => readMetrics(ops);
  const client = await startClient(port, identity.accessToken);
  return { server: { label: "gateway GET /auth/me", child, client, usage }, body };
}

async function startBaseline(kind: "node:http" | "express", body: string, token: string): Promise<Server> {
  const child = start("http-baseline", [kind]);
  const { port } = await ask<{ port: number }>(child, body);
  const usage = async () => {
    const { cpu, rss } = await ask<{ cpu: NodeJS.CpuUsage; rss: number }>(child, "usage");
    return { cpuUs: cpu.user + cpu.system, rss };
  };
  return { label: kind, child, client: await startClient(port, token), usage };
}

async function startClient(port: number, token: string): Promise<ChildProcess> {
  const client = start("http-client", [String(port), token, String(connections)]);
  await answer(client);
  return client;
}

async function measure(server: Server, ms: number): Promise<Measured> {
  const before = await server.usage();
  const round = await ask<Round>(server.client, { ms });
  const after = await server.usage();
  return { ...round, cpuUs: (after.cpuUs - before.cpuUs) / round.requests, rss: after.rss };
}

/** CPU and memory of a process of ours, as its ops port tells them. */
async function readMetrics(ops: number): Promise<Usage> {
  const text = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  return { cpuUs: value("process_cpu_seconds_total") * 1_000_000, rss: value("process_resident_memory_bytes") };
}

function start(script: string, args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(`./${script}.js`, import.meta.url)), args);
}

function ask<T>(child: ChildProcess, message: string | object): Promise<T> {
  const answered = answer<T>(child);
  child.send(message);
  return answered;
}

function answer<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      clearTimeout(timer);
      child.off("message", onMessage);
      child.off("exit", onExit);
      then();
    };
    const timer = setTimeout(() => settle(() => reject(new Error("a bench process does not answer"))), answerMs);
    const onMessage = (message: unknown) => settle(() => resolve(message as T));
    const onExit = (status: number | null) => settle(() => reject(new Error(`a bench process ended with ${status}`)));
    child.on("message", onMessage);
    child.on("exit", onExit);
  });
}

function print(measured: ReadonlyMap<string, readonly Measured[]>, bodyBytes: number): void {
  const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const rate = ({ requests, seconds }: Round) => requests / seconds;
  const raw = median((measured.get("node:http") ?? []).map(rate));
  const whole = (value: number) => Math.round(value).toLocaleString("en-US");
  const table = [...measured].map(([label, results]) => ({
    server: label,
    "requests/s": whole(median(results.map(rate))),
    "of node:http": `${Math.round((median(results.map(rate)) / raw) * 100)} %`,
    "p50 µs": whole(median(results.map(({ p50 }) => p50))),
    "p95 µs": whole(median(results.map(({ p95 }) => p95))),
    "p99 µs": whole(median(results.map(({ p99 }) => p99))),
    "server CPU µs": median(results.map(({ cpuUs }) => cpuUs)).toFixed(1),
    "RSS MB": Math.round(median(results.map(({ rss }) => rss)) / 1_048_576),
  }));
  console.log(
    `${bodyBytes}-byte body, ${connections} connections, medians of ${rounds} rounds of ${roundMs / 1000} s in turns`,
  );
  console.table(table);
}
