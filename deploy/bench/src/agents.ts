import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { defaultOptions, type Fleet, type SimOptions, startFleet } from "@muster/agent-sim";
import { type RunningStack, startStack } from "@muster/local";
import pg from "pg";
import { administrator, type Call, newOrganization, password } from "./administrator.ts";
import type { Report } from "./report.ts";

const organizations = 4;
/** Of all agents, those that are cut off. */
const cutShare = 0.1;

type Plan = { agents: number; intervalSeconds: number; steadySeconds: number };

/**
 * `npm run bench -- agents [agents] [interval seconds] [steady seconds]`: simulated agents with their channels (1,000,
 * every 10 s, for 60 s when not said; in full: `agents 10000 60 300`). No device may go offline in the steady time;
 * then a tenth of them is cut off and must be offline within three intervals and 5 s, and no other device; then the
 * gateway is killed −9 and all come back. Ends with status 1 otherwise.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const plan: Plan = {
    agents: Math.min(Number(args[0] ?? 1_000), 50_000),
    intervalSeconds: Math.max(2, Number(args[1] ?? 10)),
    steadySeconds: Number(args[2] ?? 60),
  };
  const folder = mkdtempSync(join(tmpdir(), "muster-agents-"));
  const running = await startStack({
    adminPassword: password,
    env: { PASSWORD_SCRYPT_LOG_N: "10", HEARTBEAT_INTERVAL_SECONDS: String(plan.intervalSeconds) },
  });
  const fleets: Fleet[] = [];
  const database = new pg.Client({ connectionString: running.stack.databaseUrl });
  try {
    await database.connect();
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const cut = Math.round((plan.agents * cutShare) / organizations) * organizations;
    const ramp = Math.max(20, plan.agents / 100);
    const prepare = async (hostname: string, count: number) => {
      const prepared: SimOptions[] = [];
      for (let i = 0; i < organizations; i++) {
        const options = simOptions(url, join(folder, `${hostname}-${i}`), await newKey(root, count));
        prepared.push({ ...options, count, ramp: ramp / organizations, hostname });
      }
      return prepared;
    };
    // All keys before the first agent: a gateway that thousands come to at once may put off its administrator.
    const stays = await prepare("stays", Math.round((plan.agents - cut) / organizations));
    const leaves = await prepare("leaves", cut / organizations);
    const start = (prepared: SimOptions[]) => prepared.map((options) => startFleet(options));
    const staying = start(stays);
    const leaving = start(leaves);
    fleets.push(...staying, ...leaving);
    const total = fleets.reduce((sum, { agents }) => sum + agents.length, 0);
    const enrolledSeconds = await timeUntil("all online", () => online(fleets) === total, 600);
    const rssBefore = rssMiB(running);

    const gap = () =>
      Math.max(...fleets.flatMap(({ agents }) => agents.map(({ longestGapMs }) => longestGapMs))) / 1000;
    const refusedWhileComing = refusals(fleets);
    // Agents that still back off since the rush retry once.
    await delay(plan.intervalSeconds * 1500);
    const gapWhileComing = gap();
    for (const agent of fleets.flatMap(({ agents }) => agents)) agent.forgetGap();
    const since = await now(database);
    await delay(plan.steadySeconds * 1000);
    const offlineWhileSteady = await wentOffline(database, since);
    const heartbeatGap = gap();
    const refusedWhileSteady = refusals(fleets) - refusedWhileComing;

    const cutAt = await now(database);
    await Promise.all(leaving.map((fleet) => fleet.stop()));
    const limit = 3 * plan.intervalSeconds + 5;
    const offlineSeconds = await timeUntil(
      "those cut off to be offline",
      async () => (await wentOffline(database, cutAt)) >= cut,
      limit + 60,
    );
    const others = (await wentOffline(database, cutAt)) - cut;

    const killedAt = await now(database);
    const pid = running.refresh().gateways[0]?.pid;
    if (pid) process.kill(pid, "SIGKILL");
    const channelsBefore = staying.reduce((sum, fleet) => sum + fleet.figures.total("channel connected"), 0);
    const perSecond: number[] = [];
    const alive = staying.reduce((sum, { agents }) => sum + agents.length, 0);
    let reconnected = channelsBefore;
    const backSeconds = await timeUntil(
      "all channels back",
      async () => {
        const connected = staying.reduce((sum, fleet) => sum + fleet.figures.total("channel connected"), 0);
        perSecond.push(connected - reconnected);
        reconnected = connected;
        await delay(1_000);
        return staying.reduce((sum, fleet) => sum + fleet.states().channels, 0) === alive;
      },
      180,
    );
    await delay(plan.intervalSeconds * 1000);
    const offlineAfterKill = await wentOffline(database, killedAt);
    console.table([
      {
        agents: total,
        "interval s": plan.intervalSeconds,
        "steady s": plan.steadySeconds,
        "all online after s": enrolledSeconds.toFixed(1),
        "offline while steady": offlineWhileSteady,
        "longest gap s": heartbeatGap.toFixed(1),
        "gap while they came s": gapWhileComing.toFixed(1),
        "heartbeats refused then": refusedWhileComing,
        later: refusedWhileSteady,
        "cut off": cut,
        "offline after s": offlineSeconds.toFixed(1),
        "limit s": limit,
        "others offline": others,
        "gateway killed, all back after s": backSeconds.toFixed(1),
        "most reconnects in a s": Math.max(...perSecond),
        "offline by the kill": offlineAfterKill,
        "gateway MiB": rssBefore,
      },
    ]);
    report.atMost("longest gap of heartbeats", heartbeatGap, "s", plan.intervalSeconds);
    report.atMost("cut off, noticed after", offlineSeconds, "s", limit);
    report.none({
      "offline while steady": offlineWhileSteady,
      "others offline after the cut": others,
      "offline by the kill": offlineAfterKill,
    });
    report.also("agents", total, "");
    report.also("longest gap in the rush", gapWhileComing, "s");
    report.also("all online after", enrolledSeconds, "s");
    report.also("all back after the kill", backSeconds, "s");
    report.also("most reconnects in a second", Math.max(...perSecond), "");
    report.also("gateway", rssBefore, "MiB");
    const isMissed = offlineWhileSteady + others + offlineAfterKill > 0;
    if (isMissed || offlineSeconds > limit) process.exitCode = 1;
  } finally {
    await Promise.all(fleets.map((fleet) => fleet.stop()));
    await database.end();
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function simOptions(url: string, stateFile: string, enrollmentKey: string): SimOptions {
  return { ...defaultOptions, url, enrollmentKey, stateFile, logsSeconds: 0, eventsSeconds: 0, os: "mixed" };
}

async function newKey(root: Call, maxUsage: number): Promise<string> {
  const { orgId } = await newOrganization(root);
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  const { status, body } = await root("POST", "/enrollment-keys", { orgId, name: "Bench", maxUsage, expiresAt });
  if (status !== 201) throw new Error(`POST /enrollment-keys answered ${status}: ${JSON.stringify(body)}`);
  return String(body.key);
}

/** Heartbeats that were refused or not answered. */
function refusals(fleets: readonly Fleet[]): number {
  const counts = fleets.flatMap(({ figures }) => [...figures.totals()]);
  return counts.reduce((sum, [name, count]) => sum + (name.startsWith("heartbeat ") ? count : 0), 0);
}

const online = (fleets: readonly Fleet[]) => fleets.reduce((sum, fleet) => sum + fleet.states().online, 0);

async function timeUntil(what: string, probe: () => boolean | Promise<boolean>, forSeconds: number): Promise<number> {
  const startedMs = performance.now();
  while (!(await probe())) {
    if (performance.now() - startedMs > forSeconds * 1000)
      throw new Error(`waited ${forSeconds} s in vain for ${what}`);
    await delay(100);
  }
  return (performance.now() - startedMs) / 1000;
}

async function now(database: pg.Client): Promise<Date> {
  return (await database.query<{ now: Date }>("SELECT clock_timestamp() AS now")).rows[0]?.now as Date;
}

/** Number of devices reported as offline since then. */
async function wentOffline(database: pg.Client, since: Date): Promise<number> {
  const { rows } = await database.query<{ n: string }>(
    "SELECT count(*) AS n FROM tenancy.outbox WHERE subject LIKE 'events.tenancy.%.device.offline' AND created_at >= $1",
    [since],
  );
  return Number(rows[0]?.n);
}

function rssMiB({ stack }: RunningStack): number {
  const pid = stack.gateways[0]?.pid ?? 0;
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  return Math.round((pages * 4_096) / 1_048_576);
}
