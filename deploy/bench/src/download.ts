import { type ChildProcess, fork } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startStack } from "@muster/local";
import { administrator, password } from "./administrator.ts";
import { loadAverage, usageOf } from "./process-usage.ts";
import type { Report } from "./report.ts";

type Measured = { bytes: number; refused: number; seconds: number };

const mebi = 1024 * 1024;
const clientsMax = 64;
/** Of all clients together. */
const leastMb = 150;
/** What a process may grow by meanwhile. */
const mostMib = 64;
const sampleMs = 50;
const fileName = "muster-agent-linux-amd64";
const path = "/api/v1/agents/download/linux/amd64?version=1.0.0";

/**
 * `npm run bench -- download [MiB]`: 64 clients that download a binary (16 MiB when not said) from the platform's own
 * store through one gateway, twice each: MB/s, CPU per byte, and how much the memory of gateway and agent-release grows
 * meanwhile. One client before them; and the same file from the least of node:http before and after.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const size = Math.min(Number(args[0] ?? 16), 512) * mebi;
  const folder = mkdtempSync(join(tmpdir(), "muster-bench-"));
  publish(folder, size);
  const env = {
    BINARY_SOURCE: "local",
    RELEASE_DIRECTORY: folder,
    // All clients are of one address, and on the cores of the gateway.
    DOWNLOADS_PER_NETWORK: String(clientsMax),
    EVENT_LOOP_LAG_MAX_MS: "600000",
    PASSWORD_SCRYPT_LOG_N: "10",
  };
  const running = await startStack({ adminPassword: password, env });
  try {
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const synced = await root("POST", "/agent-versions/sync-directory");
    if (synced.status !== 200) throw new Error(`the sync answered ${synced.status}: ${JSON.stringify(synced.body)}`);
    const { port } = new URL(url);
    const pids = {
      gateway: running.stack.gateways[0]?.pid ?? 0,
      "agent-release": running.stack.services["agent-release"]?.pid ?? 0,
    };
    const before = await baseline(join(folder, "1.0.0", fileName));
    const rows = [];
    for (const clients of [1, clientsMax]) rows.push(await measure(port, clients, pids));
    const after = await baseline(join(folder, "1.0.0", fileName));
    console.log(`a binary of ${size / mebi} MiB, load ${loadAverage()}`);
    console.table(rows.map(({ processes: _each, ...row }) => row));
    for (const { clients, processes } of rows) console.table(processes.map((each) => ({ clients, ...each })));
    report.atLeast(`${clientsMax} clients`, rows.at(-1)?.["MB/s"] ?? 0, "MB/s", leastMb);
    report.none({ "refused downloads": rows.reduce((sum, { refused }) => sum + refused, 0) });
    for (const name of Object.keys(pids)) {
      const used = rows.at(-1)?.processes.find((each) => each.name === name);
      report.atMost(`${name}, memory more`, used?.["MiB more"] ?? Number.NaN, "MiB", mostMib);
      report.also(`${name}, CPU`, used?.["CPU ms/MB"] ?? Number.NaN, "ms a MB");
    }
    report.also("one client", rows[0]?.["MB/s"] ?? 0, "MB/s");
    report.also(`node:http alone, ${clientsMax} clients`, (before + after) / 2, "MB/s");
    const share = (100 * (rows.at(-1)?.["MB/s"] ?? 0)) / ((before + after) / 2);
    console.log(`node:http alone ${before} and ${after} MB/s, ${clientsMax} clients; of that ${share.toFixed(0)} %`);
  } finally {
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** MB/s of a server of one hop, without anything that a product needs. */
async function baseline(file: string): Promise<number> {
  const server = fork(fileURLToPath(new URL("./download-baseline.js", import.meta.url)), [file]);
  const [{ port }] = (await once(server, "message")) as [{ port: number }];
  try {
    return (await measure(String(port), clientsMax, {}))["MB/s"];
  } finally {
    server.kill();
  }
}

async function measure(port: string, clients: number, pids: Record<string, number>) {
  const client = fork(fileURLToPath(new URL("./download-client.js", import.meta.url)), [port, path, String(clients)]);
  await once(client, "message");
  try {
    // The first downloads open connections and fill pools.
    await round(client, 1);
    const before = Object.entries(pids).map(([name, pid]) => ({ name, pid, rss: rssOf(pid), most: 0 }));
    const sampling = setInterval(() => {
      for (const each of before) each.most = Math.max(each.most, rssOf(each.pid));
    }, sampleMs);
    const groups = Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, [pid]]));
    const used = usageOf(groups);
    const { bytes, refused, seconds } = await round(client, 2);
    clearInterval(sampling);
    const after = usageOf(groups);
    const cpuMs = (name: string) => (after.get(name)?.cpuMs ?? 0) - (used.get(name)?.cpuMs ?? 0);
    const processes = before.map(({ name, rss, most }) => ({
      name,
      "CPU ms/MB": Number((cpuMs(name) / (bytes / 1e6)).toFixed(2)),
      "MiB before": Math.round(rss / mebi),
      "MiB more": Math.round((most - rss) / mebi),
    }));
    return {
      clients,
      "MB/s": Math.round(bytes / 1e6 / seconds),
      refused,
      seconds: seconds.toFixed(1),
      processes,
    };
  } finally {
    client.kill();
  }
}

async function round(client: ChildProcess, rounds: number): Promise<Measured> {
  client.send({ rounds });
  return (await once(client, "message"))[0] as Measured;
}

function rssOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0) * 1024;
}

function publish(folder: string, size: number): void {
  const block = randomBytes(mebi);
  const bytes = Buffer.concat(Array.from({ length: size / mebi }, () => block));
  const name = fileName;
  const file = { os: "linux", arch: "amd64", size, sha256: createHash("sha256").update(bytes).digest("hex"), name };
  mkdirSync(join(folder, "1.0.0"));
  writeFileSync(join(folder, "1.0.0", name), bytes);
  const manifest = { version: "1.0.0", component: "agent", artifacts: [file] };
  writeFileSync(join(folder, "1.0.0", "agent.manifest"), `${JSON.stringify(manifest)}\n`);
}
