import { type ChildProcess, fork } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startStack } from "@muster/local";
import { administrator, password } from "./administrator.ts";
import { loadAverage } from "./process-usage.ts";

type Measured = { bytes: number; refused: number; seconds: number };

const mebi = 1024 * 1024;
const clientsMax = 64;
const sampleMs = 50;

/**
 * `npm run bench -- download [MiB]`: 64 clients that download a binary (16 MiB when not said) from the platform's own store through one
 * gateway, twice each: MB/s, and how much the memory of gateway and agent-release grows meanwhile. One client before
 * them.
 */
export async function run(args: string[] = []): Promise<void> {
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
    const pids = {
      gateway: running.stack.gateways[0]?.pid ?? 0,
      "agent-release": running.stack.services["agent-release"]?.pid ?? 0,
    };
    const rows = [];
    for (const clients of [1, clientsMax]) rows.push(await measure(new URL(url).port, clients, pids));
    console.log(`a binary of ${size / mebi} MiB, load ${loadAverage()}`);
    console.table(rows);
  } finally {
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(port: string, clients: number, pids: Record<string, number>) {
  const path = "/api/v1/agents/download/linux/amd64?version=1.0.0";
  const client = fork(fileURLToPath(new URL("./download-client.js", import.meta.url)), [port, path, String(clients)]);
  await once(client, "message");
  try {
    // The first downloads open connections and fill pools.
    await round(client, 1);
    const before = Object.entries(pids).map(([name, pid]) => ({ name, pid, rss: rssOf(pid), most: 0 }));
    const sampling = setInterval(() => {
      for (const each of before) each.most = Math.max(each.most, rssOf(each.pid));
    }, sampleMs);
    const { bytes, refused, seconds } = await round(client, 2);
    clearInterval(sampling);
    const memory = before.flatMap(({ name, rss, most }) => [
      [`${name} MiB before`, Math.round(rss / mebi)],
      [`${name} MiB more`, Math.round((most - rss) / mebi)],
    ]);
    return {
      clients,
      "MB/s": Math.round(bytes / 1e6 / seconds),
      refused,
      seconds: seconds.toFixed(1),
      ...Object.fromEntries(memory),
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
  const name = "muster-agent-linux-amd64";
  const file = { os: "linux", arch: "amd64", size, sha256: createHash("sha256").update(bytes).digest("hex"), name };
  mkdirSync(join(folder, "1.0.0"));
  writeFileSync(join(folder, "1.0.0", name), bytes);
  const manifest = { version: "1.0.0", component: "agent", artifacts: [file] };
  writeFileSync(join(folder, "1.0.0", "agent.manifest"), `${JSON.stringify(manifest)}\n`);
}
