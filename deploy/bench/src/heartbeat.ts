import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startStack } from "@muster/local";
import pg from "pg";
import { administrator, newOrganization, password } from "./administrator.ts";
import { type Agent, insertAgents } from "./agent-rows.ts";
import { cpuMicros } from "./cpu.ts";
import { loadAverage } from "./process-usage.ts";
import type { Report } from "./report.ts";

const organizations = 4;
const roundMs = 5_000;
const rounds = 3;
/** Of heartbeats, and with agent-release, of without. */
const leastPerSecond = 5_000;
const leastPercent = 95;
/** Rounds with and without agent-release: their shares scatter more than the difference to be measured. */
const turns = 5;
const turnMs = 4_000;
const rawBatch = 500;
/** Milliseconds before the rounds without agent-release: the gateway has noticed by then. */
const noticeMs = 4_000;
/** Milliseconds after which the gateway has called agent-release again, and has every device's answer cached again. */
const resumeMs = 12_000;

type Round = { heartbeats: number; refused: number; seconds: number; p50: number; p95: number; p99: number };

/**
 * `npm run bench -- heartbeat [agents] [connections]`: heartbeats of 10,000 agents (when not said) over 64 connections
 * through one gateway, each answered once it is committed. Then the same by turns with agent-release stopped (SIGSTOP:
 * it takes calls and answers none). Beside them, in the same run, the bare UPDATE in batches of 500 and one by one.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const count = Math.min(Number(args[0] ?? 10_000), 100_000);
  const connections = Math.min(Number(args[1] ?? 64), 400);
  const running = await startStack({ adminPassword: password, env: { PASSWORD_SCRYPT_LOG_N: "10" } });
  const folder = mkdtempSync(join(tmpdir(), "muster-bench-"));
  try {
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const owners = [];
    for (let i = 0; i < organizations; i++) owners.push(await newOrganization(root));
    const agents = await insertAgents(running.stack.databaseUrl, owners, count);
    const file = join(folder, "agents");
    writeFileSync(file, agents.map(({ id, token }) => `${id} ${token}\n`).join(""), { mode: 0o600 });
    const client = fork(fileURLToPath(new URL("./heartbeat-client.js", import.meta.url)), [
      new URL(url).port,
      String(connections),
      file,
    ]);
    const ended = once(client, "exit").then(([code, signal]): never => {
      throw new Error(`the load side ended (${code ?? signal})`);
    });
    // Before and after the rounds nobody waits for it.
    ended.catch(() => {});
    await Promise.race([once(client, "message"), ended]);
    const round = async (ms: number): Promise<Round> => {
      client.send({ ms });
      const [said] = await Promise.race([once(client, "message"), ended]);
      return said as Round;
    };
    // Every agent is requested from identity once, and comes online.
    const cold: Round[] = [];
    while (cold.reduce((sum, r) => sum + r.heartbeats, 0) < count) cold.push(await round(roundMs));
    const before = cpuMicros(running);
    const results: Round[] = [];
    for (let i = 0; i < rounds; i++) results.push(await round(roundMs));
    const after = cpuMicros(running);
    const inTurns = await byTurns(running.stack.services["agent-release"]?.pid ?? 0, round);
    client.kill();
    print(count, connections, { cold, results, before, after }, await raw(running.stack.databaseUrl, agents));
    report.atLeast("heartbeats", median(results.map(rateOf)), "a second", leastPerSecond);
    report.atLeast("with agent-release, of without", inTurns.sharePercent, "%", leastPercent);
    report.also("heartbeat, p99", median(results.map((r) => r.p99)), "ms");
    report.also("heartbeat, p50", median(results.map((r) => r.p50)), "ms");
    report.also("first heartbeats", median(cold.map(rateOf)), "a second");
    const heartbeats = results.reduce((sum, r) => sum + r.heartbeats, 0);
    for (const [name, micros] of after) {
      report.also(`${name}, CPU`, (micros - (before.get(name) ?? 0)) / heartbeats, "µs a heartbeat");
    }
    for (const [name, perSecond] of inTurns.rates) report.also(`round-robin, ${name}`, perSecond, "a second");
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await running.stop();
  }
}

/** Rounds with and without agent-release, one after the other; and the one in which it stops. */
async function byTurns(pid: number, round: (ms: number) => Promise<Round>) {
  const rows: { [name: string]: Round[] } = { "with agent-release": [], "the moment it stops": [], "without it": [] };
  try {
    for (let i = 0; i < turns; i++) {
      rows["with agent-release"]?.push(await round(turnMs));
      process.kill(pid, "SIGSTOP");
      rows["the moment it stops"]?.push(await round(noticeMs));
      rows["without it"]?.push(await round(turnMs));
      process.kill(pid, "SIGCONT");
      await round(resumeMs);
    }
  } finally {
    process.kill(pid, "SIGCONT");
  }
  const without = rows["without it"] ?? [];
  const shares = (rows["with agent-release"] ?? []).map((r, at) => (100 * rateOf(r)) / rateOf(without[at] ?? r));
  const percents = shares.map((share) => share.toFixed(0)).join(", ");
  console.log(
    `with agent-release, in % of the rate without it in the same turn: ${percents}; median ${median(shares).toFixed(1)}`,
  );
  console.table(
    Object.entries(rows).map(([name, measured]) => ({
      rounds: name,
      "heartbeats/s": Math.round(median(measured.map((r) => r.heartbeats / r.seconds))),
      refused: measured.reduce((sum, r) => sum + r.refused, 0),
      "p50 ms": median(measured.map((r) => r.p50)).toFixed(1),
      "p95 ms": median(measured.map((r) => r.p95)).toFixed(1),
      "p99 ms": median(measured.map((r) => r.p99)).toFixed(1),
    })),
  );
  const rates = Object.entries(rows).map(([name, measured]) => [name, median(measured.map(rateOf))] as const);
  return { sharePercent: median(shares), rates };
}

const rateOf = ({ heartbeats, seconds }: Round) => heartbeats / seconds;

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Heartbeats per second of the bare UPDATE in PostgreSQL alone. */
async function raw(databaseUrl: string, agents: readonly Agent[]): Promise<{ batched: number; single: number }> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const timed = async (ids: readonly string[]) => {
      let done = 0;
      const startedMs = performance.now();
      while (performance.now() - startedMs < 2_000) {
        await client.query({
          name: `raw-${ids.length}`,
          text: "UPDATE tenancy.devices SET last_seen_at = clock_timestamp() WHERE id = ANY ($1::uuid[])",
          values: [ids],
        });
        done += ids.length;
      }
      return Math.round(done / ((performance.now() - startedMs) / 1000));
    };
    const ids = agents.slice(0, rawBatch).map(({ id }) => id);
    return { batched: await timed(ids), single: await timed(ids.slice(0, 1)) };
  } finally {
    await client.end();
  }
}

type Measured = { cold: Round[]; results: Round[]; before: Map<string, number>; after: Map<string, number> };

function print(count: number, connections: number, of: Measured, bare: { batched: number; single: number }): void {
  const { cold, results, before, after } = of;
  const heartbeats = results.reduce((sum, r) => sum + r.heartbeats, 0);
  const cpu = [...after].map(([name, micros]) => [
    `${name} µs`,
    Math.round((micros - (before.get(name) ?? 0)) / Math.max(1, heartbeats)),
  ]);
  console.log(
    `load ${loadAverage()}; ${count} agents, ${connections} connections, medians of ${rounds} rounds of ${roundMs / 1000} s; CPU per heartbeat`,
  );
  console.table([
    {
      "heartbeats/s": Math.round(median(results.map((r) => r.heartbeats / r.seconds))),
      "first ones/s": Math.round(median(cold.map((r) => r.heartbeats / r.seconds))),
      refused: [...cold, ...results].reduce((sum, r) => sum + r.refused, 0),
      "p50 ms": median(results.map((r) => r.p50)).toFixed(1),
      "p95 ms": median(results.map((r) => r.p95)).toFixed(1),
      "p99 ms": median(results.map((r) => r.p99)).toFixed(1),
      ...Object.fromEntries(cpu),
      "bare UPDATE 500/s": bare.batched,
      "bare UPDATE 1/s": bare.single,
    },
  ]);
}
