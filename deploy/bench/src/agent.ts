import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startStack } from "@muster/local";
import pg from "pg";
import { administrator, newOrganization, password } from "./administrator.ts";
import { usageOf } from "./process-usage.ts";
import type { Report } from "./report.ts";

const main = fileURLToPath(new URL("../../agent/dist/main.js", import.meta.url));
/** After the backlog memory is given back for a while. */
const settledMs = 30_000;
const idleMs = 60_000;
const waitMs = 3_600_000;
const pollMs = 500;

/**
 * `npm run bench -- agent [lines]`: a real agent and its watchdog, with a syslog file to which 1,000,000 lines are
 * written at once. Ends with status 1 when one is lost or stored twice, when the machine is online later than 10 s
 * after the watchdog's start, or when both processes take more than 120 MB or, idle, 0.3 % of a processor.
 */
export async function run([lines = "1000000"]: string[], report: Report) {
  const count = Number(lines);
  const folder = mkdtempSync(join(tmpdir(), "muster-bench-agent-"));
  const running = await startStack({ adminPassword: password, env: { AGENT_REQUESTS_PER_MINUTE: "1000000" } });
  const owner = new pg.Client({ connectionString: running.stack.databaseUrl });
  let watchdog: ChildProcess | null = null;
  try {
    await owner.connect();
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const { orgId } = await newOrganization(root);
    const { body } = await root("POST", "/enrollment-keys", { orgId, name: "Bench" });
    const log = install(folder, url, String(body.key));
    const startedMs = performance.now();
    watchdog = spawn(join(folder, "watchdog", "muster-agent"), ["supervise"], { stdio: "ignore" });
    await until(() => statusOf(folder).lastHeartbeatAt !== undefined);
    const onlineMs = performance.now() - startedMs;

    const shippedFromMs = performance.now();
    await append(log, count);
    const stored = () => one(owner, "SELECT count(*)::int AS n FROM device_logs.event_log WHERE org_id = $1", [orgId]);
    await until(async () => (await stored()) >= count, 2_000);
    const seconds = (performance.now() - shippedFromMs) / 1_000;
    const different = await one(
      owner,
      "SELECT count(DISTINCT message)::int AS n FROM device_logs.event_log WHERE org_id = $1",
      [orgId],
    );
    const all = await stored();

    await delay(settledMs);
    const before = usageOf(processesOf(folder)).get("agent");
    await delay(idleMs);
    const after = usageOf(processesOf(folder)).get("agent");
    const idlePercent = (((after?.cpuMs ?? 0) - (before?.cpuMs ?? 0)) / idleMs) * 100;
    report.atMost("start of the watchdog to online", onlineMs / 1_000, "s", 10);
    report.none({ "lines lost": count - different, "lines stored twice": all - different });
    report.atMost("both processes after it, PSS", after?.pssMb ?? 0, "MB", 120);
    report.atMost("both processes, idle", idlePercent, "% of a processor", 0.3);
    report.also("lines shipped", count / seconds, "lines/s");
    report.also("lines", count, "");
    if (report.figures.some(({ held }) => held === false)) process.exitCode = 1;
  } finally {
    await ended(folder, watchdog);
    await owner.end();
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The compiled agent as an installed version that logs a file; returns the file. */
function install(folder: string, url: string, key: string): string {
  const program = `#!/bin/sh
if [ "$1" = --version ]; then echo "muster-agent 1.0.0 (bench)"; exit; fi
export MUSTER_AGENT_DEV_VERSION=1.0.0 MUSTER_AGENT_CONFIG='${join(folder, "config.json")}'
exec '${process.execPath}' --max-semi-space-size=1 '${main}' "$@"
`;
  const sha256 = createHash("sha256").update(program).digest("hex");
  const version = `versions/1.0.0-${sha256.slice(0, 12)}`;
  mkdirSync(join(folder, version), { recursive: true });
  mkdirSync(join(folder, "state"), { mode: 0o700 });
  writeFileSync(join(folder, version, "muster-agent"), program, { mode: 0o755 });
  const release = { version: "1.0.0", size: program.length, sha256, counter: 1, component: "agent" };
  writeFileSync(join(folder, version, "release.json"), JSON.stringify(release));
  for (const name of ["current", "watchdog"]) symlinkSync(version, join(folder, name));
  const log = join(folder, "syslog");
  writeFileSync(log, "");
  writeFileSync(join(folder, "config.json"), JSON.stringify({ url, eventLogs: { file: log }, service: false }));
  writeFileSync(join(folder, "state", "enrollment.key"), key, { mode: 0o600 });
  return log;
}

async function append(path: string, count: number): Promise<void> {
  const file = createWriteStream(path, { flags: "a" });
  for (let at = 0; at < count; at++) {
    const isTaken = file.write(`Nov 26 12:00:00 host app[42]: line ${at} of the bench, of a usual length for a log\n`);
    if (!isTaken) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
}

const textIn = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // Not written yet.
  }
};

const statusOf = (folder: string): { lastHeartbeatAt?: string } =>
  JSON.parse(textIn(join(folder, "state", "status.json")) || "{}");

/** Watchdog and agent by their locks: the agent lives on when its watchdog ends. */
function processesOf(folder: string): { agent: number[] } {
  const locks = ["watchdog.lock", "agent.lock"].map((name) => textIn(join(folder, "state", name)));
  return { agent: locks.map((text) => Number(text.split(" ")[0])).filter((pid) => pid > 0) };
}

async function ended(folder: string, watchdog: ChildProcess | null): Promise<void> {
  if (watchdog === null) return;
  const { agent } = processesOf(folder);
  watchdog.kill("SIGTERM");
  for (const pid of agent) {
    try {
      process.kill(pid, "SIGTERM");
    } catch {
      // It ended with the watchdog.
    }
  }
  await delay(pollMs);
}

async function one(owner: pg.Client, text: string, values: unknown[]): Promise<number> {
  const { rows } = await owner.query<{ n: number }>(text, values);
  return rows[0]?.n ?? 0;
}

async function until(isDone: () => boolean | Promise<boolean>, everyMs = pollMs): Promise<void> {
  const endMs = performance.now() + waitMs;
  while (!(await isDone())) {
    if (performance.now() > endMs) throw new Error(`not done within ${waitMs / 60_000} minutes`);
    await delay(everyMs);
  }
}
