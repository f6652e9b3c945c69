import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startStack } from "@muster/local";
import pg from "pg";
import { administrator, newOrganization, password } from "./administrator.ts";
import { buildAgents, downloadBytes, type Machine, newMachine } from "./agent-machine.ts";
import { usageOf } from "./process-usage.ts";
import type { Report } from "./report.ts";

/** After the backlog memory is given back for a while. */
const settledMs = 30_000;
const waitMs = 3_600_000;
const pollMs = 500;
const versions = ["1.0.0", "1.1.0"] as const;

/**
 * `npm run bench -- agent [lines] [idle seconds]`: builds two versions of the agent, installs the first by the pasted
 * line, has it send a file of syslog to which 1,000,000 lines are written at once, watches both processes for a minute,
 * and updates to the second. Ends with status 1 when a line is lost or stored twice, or a figure is beyond its limit.
 */
export async function run([lines = "1000000", idleSeconds = "60"]: string[], report: Report) {
  const folder = mkdtempSync(join(tmpdir(), "muster-bench-agent-"));
  const releases = join(folder, "releases");
  buildAgents(releases, versions);
  const running = await startStack({
    adminPassword: password,
    env: {
      // The agent's own speed, not what a platform grants one device.
      AGENT_REQUESTS_PER_MINUTE: "1000000",
      DEVICE_LOG_ROWS_PER_MINUTE: "100000000",
      BINARY_SOURCE: "local",
      RELEASE_DIRECTORY: releases,
    },
  });
  const owner = new pg.Client({ connectionString: running.stack.databaseUrl });
  let machine: Machine | null = null;
  try {
    await owner.connect();
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const release = async (version: string) => {
      const { status, body } = await root("POST", `/agent-versions/sync-directory?version=${version}`);
      if (status !== 200) throw new Error(`the sync answered ${status}: ${JSON.stringify(body)}`);
    };
    await release(versions[0]);
    const { orgId } = await newOrganization(root);
    const { body } = await root("POST", "/enrollment-keys", { orgId, name: "Bench" });

    machine = newMachine(join(folder, "prefix"), url);
    report.atMost("file to download", downloadBytes(releases, versions[0]) / 1e6, "MB", 42);
    report.atMost("pasted line to online", machine.install(String(body.key)) / 1_000, "s", 10);
    await measureLogs(machine, { folder, owner, orgId, count: Number(lines), report });
    await measureIdle(machine, Number(idleSeconds) * 1_000, report);
    await measureSwap(machine, () => release(versions[1]), report);
    if (report.figures.some(({ held }) => held === false)) process.exitCode = 1;
  } finally {
    machine?.uninstall();
    await owner.end();
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Backlog = { folder: string; owner: pg.Client; orgId: string; count: number; report: Report };

async function measureLogs(machine: Machine, { folder, owner, orgId, count, report }: Backlog): Promise<void> {
  const log = join(folder, "syslog");
  writeFileSync(log, "");
  await restarted(machine, () => machine.configure({ eventLogs: { file: log } }));
  const startedMs = performance.now();
  await append(log, count);
  const stored = () => one(owner, "SELECT count(*)::int AS n FROM device_logs.event_log WHERE org_id = $1", [orgId]);
  await until(async () => (await stored()) >= count, 2_000);
  const seconds = (performance.now() - startedMs) / 1_000;
  const different = await one(
    owner,
    "SELECT count(DISTINCT message)::int AS n FROM device_logs.event_log WHERE org_id = $1",
    [orgId],
  );
  report.none({ "lines lost": count - different, "lines stored twice": (await stored()) - different });
  report.also("lines shipped", count / seconds, "lines/s");
  report.also("lines", count, "");
}

async function measureIdle(machine: Machine, idleMs: number, report: Report): Promise<void> {
  await delay(Math.min(settledMs, idleMs));
  const usage = () => usageOf({ agent: machine.processes() }).get("agent");
  const before = usage();
  await delay(idleMs);
  const after = usage();
  const percent = (((after?.cpuMs ?? 0) - (before?.cpuMs ?? 0)) / idleMs) * 100;
  report.atMost("both processes after it, PSS", after?.pssMb ?? Number.NaN, "MB", 120);
  report.atMost("both processes, idle", percent, "% of a processor", 0.3);
}

async function measureSwap(machine: Machine, release: () => Promise<void>, report: Report): Promise<void> {
  // The offer comes with a heartbeat: not a minute later.
  await restarted(machine, () => machine.configure({ eventLogs: "none", heartbeatSeconds: 2 }));
  await release();
  const [, next] = versions;
  await until(() => machine.status().version === next && machine.status().lastHeartbeatAt !== undefined);
  report.atMost("swap to the first heartbeat of the next version", machine.swapGap(next), "s", 3);
  report.atMost("both versions on the disk", machine.bytesOnDisk() / 1e6, "MB", 260);
}

/** Waits for a heartbeat of the process that starts after this work. */
async function restarted(machine: Machine, work: () => void): Promise<void> {
  const before = machine.status().startedAt;
  work();
  await until(() => {
    const { startedAt, lastHeartbeatAt = "" } = machine.status();
    return startedAt !== before && lastHeartbeatAt >= String(startedAt);
  });
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
