import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateCallerKey } from "@muster/rpc";
import type { Report } from "./report.ts";
import { type Row, rows } from "./rpc-rows.ts";

const warmMs = 1_000;
const measuredMs = 2_000;
const inFlight = 32;
/**
 * Every row is measured this often, in turn, and its best is kept: neighbours on the machine disturb one row, not all.
 */
const rounds = 2;
const rowTimeoutMs = 30_000;

type Measured = { calls: number; seconds: number; p50: number; p99: number; cpuUs: number; rss: number };
type Usage = { cpu: NodeJS.CpuUsage; rss: number };
type Result = { row: Row; perSecond: number; serverCpuUs: number; serverRss: number; client: Measured };

/**
 * `npm run bench -- rpc [text]`: every row whose label has the text, server and client in a process each, then one
 * table.
 */
export async function run([filter = ""]: string[], report: Report): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "muster-bench-"));
  const key = generateCallerKey();
  mkdirSync(join(directory, "gateway"));
  writeFileSync(join(directory, "gateway", `${key.kid}.pem`), key.publicPem);
  const best = new Map<Row, Result>();
  try {
    for (let round = 0; round < rounds; round++) {
      for (const row of rows) {
        if (!row.label.includes(filter)) continue;
        const result = await measure(row, directory, key.privateKey);
        if (result.perSecond > (best.get(row)?.perSecond ?? 0)) best.set(row, result);
        process.stderr.write(`${row.label}${row.telemetry ? " (telemetry)" : ""}: ${format(result.perSecond)}/s\n`);
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  print([...best.values()], report);
}

async function measure(row: Row, keys: string, privateKey: string): Promise<Result> {
  const telemetry = row.telemetry ? "on" : "off";
  const server = start("rpc-server", [row.server, telemetry, keys]);
  let client: ChildProcess | undefined;
  try {
    const { port } = await answer<{ port: number }>(server);
    const times = [String(warmMs), String(measuredMs), String(inFlight)];
    client = start("rpc-client", [row.client, telemetry, `http://127.0.0.1:${port}`, ...times, privateKey]);
    await answer(client);
    const before = await ask<Usage>(server);
    const measured = await ask<Measured>(client);
    const after = await ask<Usage>(server);
    const cpuUs = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system;
    return {
      row,
      perSecond: measured.calls / measured.seconds,
      serverCpuUs: cpuUs / measured.calls,
      serverRss: after.rss,
      client: measured,
    };
  } finally {
    client?.kill();
    server.kill();
  }
}

function start(script: string, args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(`./${script}.js`, import.meta.url)), args);
}

function ask<T>(child: ChildProcess): Promise<T> {
  const answered = answer<T>(child);
  child.send({});
  return answered;
}

function answer<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(() => reject(new Error("a row took too long"))), rowTimeoutMs);
    const settle = (then: () => void) => {
      clearTimeout(timer);
      child.off("message", onMessage);
      child.off("exit", onExit);
      then();
    };
    const onMessage = (message: unknown) => settle(() => resolve(message as T));
    const onExit = (status: number | null) => settle(() => reject(new Error(`a bench process ended with ${status}`)));
    child.on("message", onMessage);
    child.on("exit", onExit);
  });
}

function print(results: readonly Result[], report: Report): void {
  const table = results.map((result) => {
    const group = results.filter(({ row }) => row.telemetry === result.row.telemetry);
    const best = (baseline: Row["baseline"]) =>
      Math.max(0, ...group.filter(({ row }) => row.baseline === baseline).map(({ perSecond }) => perSecond));
    const times = (baseline: Row["baseline"]) =>
      best(baseline) > 0 ? `${(result.perSecond / best(baseline)).toFixed(1)}x` : "-";
    return {
      "client -> server": result.row.label,
      telemetry: result.row.telemetry ? "on" : "off",
      "calls/s": format(result.perSecond),
      "p50 µs": format(result.client.p50),
      "p99 µs": format(result.client.p99),
      "client CPU µs": result.client.cpuUs.toFixed(1),
      "server CPU µs": result.serverCpuUs.toFixed(1),
      "RSS MB": `${megabytes(result.client.rss)}/${megabytes(result.serverRss)}`,
      "vs gRPC": times("grpc"),
      "vs Connect": times("connect"),
    };
  });
  console.log(
    `200-byte message, ${inFlight} calls in flight, ${measuredMs / 1000} s per row after ${warmMs / 1000} s, best of ${rounds}`,
  );
  console.table(table);
  reportTo(report, results);
}

/** Ours against the fastest stock pair of each kind; nothing where the text left them out. */
function reportTo(report: Report, results: readonly Result[]): void {
  const off = results.filter(({ row }) => !row.telemetry);
  const fastest = (some: readonly Result[]) => some.toSorted((a, b) => b.perSecond - a.perSecond)[0];
  const stock = (baseline: Row["baseline"]) => fastest(off.filter(({ row }) => row.baseline === baseline));
  const [ours, grpc, connect] = [off.find(({ row }) => row.label === "ours -> ours"), stock("grpc"), stock("connect")];
  if (!ours || !grpc || !connect) return;
  report.atLeast("ours, of stock gRPC", ours.perSecond / grpc.perSecond, "×", 5);
  report.atLeast("ours, of stock Connect", ours.perSecond / connect.perSecond, "×", 3.5);
  report.atMost("client CPU, of stock Connect's", (100 * ours.client.cpuUs) / connect.client.cpuUs, "%", 33.4);
  for (const { row, perSecond } of results) {
    report.also(`${row.label}${row.telemetry ? ", telemetry" : ""}`, perSecond, "calls/s");
  }
}

const format = (value = 0): string => Math.round(value).toLocaleString("en-US");
const megabytes = (bytes: number): number => Math.round(bytes / 1_048_576);
