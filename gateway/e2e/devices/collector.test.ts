import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "@jest/globals";
import { until } from "@muster/testing";
import { agentMaker, type TestAgent } from "../support/agent-maker.ts";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { newTenant } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

/** The program, which `npm run check:collector` builds. */
const program = process.env.MUSTER_COLLECTOR;
if (!program) console.log("not run: `npm run check:collector` builds the collector and runs this");
const withCollector = program ? describe : describe.skip;

let cluster: Cluster;
let root: Api;
let agent: TestAgent;
let folder = "";
let running: ChildProcess | null = null;
beforeAll(async () => {
  if (!program) return;
  cluster = await sharedCluster();
  root = api(cluster, (await signIn(cluster)).accessToken);
  agent = await (await agentMaker(cluster))(await newTenant(root));
  folder = mkdtempSync(join(tmpdir(), "muster-collector-"));
  mkdirSync(join(folder, "state"));
}, 180_000);
afterAll(() => {
  running?.kill("SIGKILL");
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** JSON is YAML. */
const config = () => ({
  extensions: { file_storage: { directory: join(folder, "state") } },
  receivers: {
    filelog: {
      include: [join(folder, "app.log")],
      start_at: "beginning",
      storage: "file_storage",
      poll_interval: "50ms",
    },
  },
  exporters: {
    otlphttp: {
      endpoint: `${cluster.url}/api/v1/agents/${agent.deviceId}/otlp`,
      headers: { Authorization: `Bearer ${agent.token}` },
      sending_queue: { storage: "file_storage", batch: { max_size: 5_000 } },
    },
  },
  service: {
    extensions: ["file_storage"],
    telemetry: { metrics: { level: "none" }, logs: { level: "error" } },
    pipelines: { logs: { receivers: ["filelog"], exporters: ["otlphttp"] } },
  },
});

function start(): void {
  const file = join(folder, "config.yaml");
  writeFileSync(file, JSON.stringify(config()));
  running = spawn(String(program), ["--config", `file:${file}`], { stdio: ["ignore", "inherit", "inherit"] });
}

/** A process that is killed has no chance to say what it has sent. */
async function kill(): Promise<void> {
  const ended = new Promise((resolve) => running?.once("exit", resolve));
  running?.kill("SIGKILL");
  await ended;
}

const write = (from: number, to: number) =>
  appendFileSync(join(folder, "app.log"), Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join(""));

async function stored(): Promise<Set<string>> {
  const found = new Set<string>();
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = new URLSearchParams({ limit: "1000", ...(cursor === "" ? {} : { cursor }) });
    const { status, body, text } = await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs?${query}`);
    if (status !== 200) throw new Error(`the list was answered ${status}: ${text}`);
    for (const { message } of body.data as { message: string }[]) found.add(message);
    cursor = (body.pagination as { nextCursor: string | null }).nextCursor;
  }
  return found;
}

withCollector("the OpenTelemetry Collector", () => {
  it("ships a file through kills of its own, and no line is lost", async () => {
    write(0, 3_000);
    start();
    await until("the first lines", async () => (await stored()).size > 0, 60_000);
    write(3_000, 6_000);
    await kill();
    write(6_000, 9_000);
    start();
    await until("more lines", async () => (await stored()).size > 3_000, 60_000);
    await kill();
    start();
    await until("all lines", async () => (await stored()).size === 9_000, 120_000);
  }, 300_000);
});
