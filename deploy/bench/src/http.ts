import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateNkey } from "@muster/bus";
import { type BenchIdentity, startBenchIdentity } from "./http-identity.ts";
import type { Report } from "./report.ts";

const connections = 32;
const rounds = 5;
const warmMs = 2_000;
const roundMs = 1_500;
const answerMs = 30_000;

type Usage = { cpuUs: number; rss: number };
/** Of what raw node:http answers, percent. */
export const leastShare = 40;
/** `least`: of what the baseline answers, percent; null where there is no limit. */
export type Server = {
  least: number | null;
  label: string;
  child: ChildProcess;
  client: ChildProcess;
  usage(): Promise<Usage>;
};
type Round = { requests: number; seconds: number; p50: number; p95: number; p99: number };
type Measured = Round & { cpuUs: number; rss: number };

/**
 * `npm run bench -- http`: raw node:http, Express 5 and GET /auth/me through the gateway, also with a young generation
 * as small as V8 makes it in a small container, and with telemetry (5 % of traces to a collector that takes them), in
 * turns, then one table of medians.
 */
export async function run(_args: string[], report: Report): Promise<void> {
  const identity = await startBenchIdentity();
  const collector = await startCollector();
  const servers: Server[] = [];
  try {
    const session = `Authorization: Bearer ${identity.accessToken}`;
    const gateway = await startGateway(identity);
    // What V8 chooses in a container of up to 512 MiB, unless it is configured otherwise.
    const small = await startGateway(identity, { semiSpaceMb: 1 });
    const traced = await startGateway(identity, { otlpEndpoint: collector.url });
    const body = await gateway.bodyFor(session);
    // Connections last: one on which no request comes for HEADERS_TIMEOUT_MS is closed.
    servers.push(await startBaseline("node:http", body, session));
    servers.push(await gateway.serve("gateway GET /auth/me", [session], leastShare));
    servers.push(await small.serve("gateway, young generation 1 MB", [session]));
    servers.push(await traced.serve("gateway with telemetry", [session]));
    servers.push(await startBaseline("express", body, session));
    await measureInTurns(servers, body.length, report);
  } finally {
    stopServers(servers);
    await identity.close();
    collector.close();
  }
}

/** Warms each server, measures them by turns, prints the medians. The first is the baseline. */
export async function measureInTurns(servers: readonly Server[], bodyBytes: number, report: Report): Promise<void> {
  const measured = new Map<string, Measured[]>(servers.map(({ label }) => [label, []]));
  for (const server of servers) await measure(server, warmMs);
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) measured.get(server.label)?.push(await measure(server, roundMs));
  }
  print(measured, bodyBytes);
  const of = (label: string) => median((measured.get(label) ?? []).map(rate));
  const [baseline] = servers;
  for (const { label, least } of servers.slice(1)) {
    const share = (100 * of(label)) / of(baseline?.label ?? "");
    if (least === null) report.also(`${label}, of node:http`, share, "%");
    else report.atLeast(`${label}, of node:http`, share, "%", least);
    report.also(label, of(label), "requests/s");
    report.also(`${label}, CPU`, median((measured.get(label) ?? []).map(({ cpuUs }) => cpuUs)), "µs a request");
  }
  report.also(baseline?.label ?? "", of(baseline?.label ?? ""), "requests/s");
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const rate = ({ requests, seconds }: Round) => requests / seconds;

export function stopServers(servers: readonly Server[]): void {
  for (const { client, child } of servers) {
    client.kill();
    child.kill();
  }
}

export type BenchGateway = {
  /** Load on GET /auth/me with these credential header lines: one over and over, or several once each. */
  serve(label: string, credentials: readonly string[], least?: number): Promise<Server>;
  bodyFor(credential: string): Promise<string>;
};

/** An OTLP collector over gRPC that takes everything and keeps nothing. */
async function startCollector(): Promise<{ url: string; close(): void }> {
  const server = createHttp2Server((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(200, { "content-type": "application/grpc" });
      // An empty message, uncompressed.
      response.write(Buffer.alloc(5));
      response.addTrailers({ "grpc-status": "0" });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

type GatewayOptions = {
  /** Traces go there. */
  otlpEndpoint?: string;
  /** MB of each half of V8's young generation; V8's own choice without it: 16 on a machine of 4 GB or more. */
  semiSpaceMb?: number;
};

/** The gateway as a process before the bench's identity. */
export async function startGateway(identity: BenchIdentity, options: GatewayOptions = {}): Promise<BenchGateway> {
  const { otlpEndpoint, semiSpaceMb } = options;
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
      SESSION_RATE_LIMIT: "1000000000",
      KEY_CACHE_MAX: "1000000",
      // No server listens there: changes would arrive with the heartbeats.
      NATS_URL: "nats://127.0.0.1:1",
      NATS_NKEY_SEED: generateNkey().seed,
      CALLER_PRIVATE_KEYS: identity.callerKeys,
      ...(otlpEndpoint ? { OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpoint } : {}),
    },
    execArgv: [
      ...(otlpEndpoint ? ["--import", "@muster/kit/telemetry"] : []),
      ...(semiSpaceMb ? [`--max-semi-space-size=${semiSpaceMb}`] : []),
    ],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const { http: port, ops } = await answer<{ http: number; ops: number }>(child);
  return {
    async serve(label, credentials, least) {
      const client = await startClient(port, credentials);
      return { label, least: least ?? null, child, client, usage: () => readMetrics(ops) };
    },
    async bodyFor(credential) {
      const [name = "", value = ""] = credential.split(": ");
      const reply = await fetch(`http://127.0.0.1:${port}/api/v1/auth/me`, { headers: { [name]: value } });
      const body = await reply.text();
      if (reply.status !== 200) throw new Error(`the gateway answered ${reply.status}: ${body}`);
      return body;
    },
  };
}

export async function startBaseline(kind: "node:http" | "express", body: string, credential: string): Promise<Server> {
  const child = start("http-baseline", [kind]);
  const { port } = await ask<{ port: number }>(child, body);
  const usage = async () => {
    const { cpu, rss } = await ask<{ cpu: NodeJS.CpuUsage; rss: number }>(child, "usage");
    return { cpuUs: cpu.user + cpu.system, rss };
  };
  return { label: kind, least: null, child, client: await startClient(port, [credential]), usage };
}

async function startClient(port: number, credentials: readonly string[]): Promise<ChildProcess> {
  const directory = mkdtempSync(join(tmpdir(), "muster-bench-"));
  const file = join(directory, "credentials");
  writeFileSync(file, credentials.join("\n"), { mode: 0o600 });
  try {
    const client = start("http-client", [String(port), `@${file}`, String(connections)]);
    await answer(client);
    return client;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function measure(server: Server, ms: number): Promise<Measured> {
  const before = await server.usage();
  const round = await ask<Round>(server.client, { ms });
  const after = await server.usage();
  return { ...round, cpuUs: (after.cpuUs - before.cpuUs) / round.requests, rss: after.rss };
}

/** CPU and memory of one of the platform's processes, from its ops port. */
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
