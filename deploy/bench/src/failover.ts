import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningStack, startStack } from "@muster/local";
import { testCaFile } from "@muster/testing";
import { newAdministrator, password } from "./administrator.ts";
import { type Fault, faults, natsStore, type Setup, type Struck } from "./failover-faults.ts";
import { type Load, startLoad } from "./failover-load.ts";
import { pairBinaries, startPair } from "./failover-postgres.ts";
import { haproxy } from "./failover-proxy.ts";
import { countedColumns, failuresIn, settled, settleMs } from "./failover-settled.ts";
import { loadAverage } from "./process-usage.ts";
import type { Report } from "./report.ts";
import { canMount, mountSmallDisk } from "./small-disk.ts";
import { host } from "./webhook-owners.ts";
import { type Receiver, startReceiver } from "./webhooks-cluster.ts";

const aroundMs = 3_000;
/** PostgreSQL keeps 256 MB of its log for the standby; a stream here is small. */
const pairDiskMb = 1_024;
const natsDiskMb = 64;

/**
 * `npm run bench -- failover [rounds] [part of a fault's name] [haproxy]`: five clients at a cluster with a pair of
 * PostgreSQL servers (synchronous standby) and three NATS servers, while one thing is lost after the other. Then
 * counts: every acknowledged site there once with one audit row, every event at its webhook, chains whole, no revoked
 * key admitted, and the first write after. Status 1 when one of them does not hold. With `haproxy` the pair is reached
 * through deploy/ha/haproxy.cfg, else through an address that the bench moves.
 */
export async function run([rounds = "1", only = "", via = ""]: string[], report: Report): Promise<void> {
  const bin = pairBinaries();
  if (!bin) {
    console.log("not run: failover. No pg_basebackup: install Debian's postgresql, or give MUSTER_POSTGRES_BIN.");
    if (process.env.CI === "true") process.exitCode = 1;
    return;
  }
  const proxy = via === "haproxy" ? haproxy() : null;
  if (via === "haproxy" && !proxy) {
    console.log("not run: failover through haproxy. Install it, or give HAPROXY_BIN.");
    if (process.env.CI === "true") process.exitCode = 1;
    return;
  }
  const chosen = Object.entries(faults).filter(([name]) => name.includes(only));
  const rows: Strike[] = [];
  for (const where of ["pair", "small disks", "pooled"] as const) {
    const some = chosen.filter(([, { setup = "pair" }]) => setup === where);
    if (some.length === 0) continue;
    if (where === "small disks" && !canMount()) {
      console.log(`not run: ${some.map(([name]) => name).join(", ")}. This process may not mount a file system.`);
      continue;
    }
    rows.push(...(await onCluster({ bin, proxy, where }, some, Math.min(Number(rounds), 10))));
  }
  console.log(`load average ${loadAverage()}`);
  console.table(rows.map(({ ms: _first, withinMs: _limit, wrong: _all, ...row }) => row));
  reportTo(report, rows, via);
}

/** Of all rounds of a fault the longest time to the first write; of all faults together what went wrong. */
function reportTo(report: Report, rows: readonly Strike[], via: string): void {
  const through = via === "" ? "" : `, through ${via}`;
  for (const fault of new Set(rows.map((row) => row.fault))) {
    const own = rows.filter((row) => row.fault === fault);
    const longest = Math.max(...own.map(({ ms }) => ms));
    report.atMost(`${fault}${through}`, longest, "ms", own[0]?.withinMs ?? 0);
  }
  if (rows.length === 0) return;
  const sum = (of: (row: Strike) => number) => rows.reduce((total, row) => total + of(row), 0);
  report.none({
    "lost, doubled or repeated": sum(({ wrong }) => wrong),
    "revoked keys admitted": sum((row) => row["admitted after"]),
  });
  report.also("faults", rows.length, "");
  report.also(
    "sites and events acknowledged",
    sum(({ sites, events }) => sites + events),
    "",
  );
  report.also(
    "keys revoked",
    sum(({ revoked }) => revoked),
    "",
  );
}

async function onCluster(
  { bin, proxy, where }: { bin: string; proxy: string | null; where: Setup },
  some: [string, Fault][],
  rounds: number,
) {
  const dataDir = mkdtempSync("/tmp/muster-failover-");
  chmodSync(dataDir, 0o711);
  const natsDisk = where === "small disks" ? mountSmallDisk(join(dataDir, natsStore(1)), natsDiskMb) : null;
  const disks = where === "small disks" ? { mb: pairDiskMb } : null;
  const pair = where === "pooled" ? null : await startPair(bin, { disks, proxy });
  const receiver = await startReceiver(4, "https", true);
  let running: RunningStack | undefined;
  try {
    running = await startStack({
      adminPassword: password,
      dataDir,
      env: {
        PASSWORD_SCRYPT_LOG_N: "12",
        ...(pair ? { MUSTER_DATABASE_URL: pair.url } : { MUSTER_PGBOUNCER: "true" }),
        MUSTER_NATS_SERVERS: "3",
        MUSTER_TLS: "true",
        EGRESS_TEST_EXCEPTIONS: receiver.ports.map((port) => `${host}:${port}=127.0.0.1`).join(","),
        NODE_EXTRA_CA_CERTS: testCaFile,
        DELIVERY_LEASE_MS: "10000",
        DELIVERY_TIMEOUT_MS: "5000",
      },
    });
    const { token } = await newAdministrator(running.stack.gateways[0]?.url ?? "");
    const at = { pair, running, receiver, token, natsDisk };
    const rows: Strike[] = [];
    for (const [name, fault] of some) {
      for (let round = 1; round <= rounds; round++) {
        rows.push({ fault: name, round, ...(await strike(fault, at)) });
        // Printed at once, so that an interrupted run has results, too.
        console.log(JSON.stringify(rows.at(-1)));
        if (fault.rebuilds) await pair?.rebuild();
      }
    }
    return rows;
  } finally {
    await running?.stop();
    receiver.stop();
    await pair?.remove();
    natsDisk?.unmount();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

type Strike = Awaited<ReturnType<typeof strike>> & { fault: string; round: number };

async function strike(fault: Fault, at: Struck & { receiver: Receiver; token: string }) {
  const load = await startLoad(at.running.stack.gateways[0]?.url ?? "", at.token, at.receiver);
  await delay(aroundMs);
  const struckMs = performance.now();
  const { fromMs, withinMs } = await fault.strike(at);
  const firstMs = await firstWrite(load, fromMs);
  await delay(aroundMs);
  await load.stop();
  const began = performance.now();
  const late = await load.isSeenTooEarly();
  const counted = await settled(load, { databaseUrl: at.running.refresh().databaseUrl, receiver: at.receiver });
  const first = Math.round(firstMs - fromMs);
  const readsMeanwhile = (times: number[]) => times.filter((ms) => ms > struckMs && ms < firstMs).length;
  const wrong = failuresIn(counted) + load.admitted + Number(late);
  if (wrong > 0 || first > withinMs) process.exitCode = 1;
  return {
    sites: load.sites.length,
    events: load.events.length,
    "sent again": load.again,
    "first write after ms": first,
    "limit ms": withinMs,
    "reads meanwhile": readsMeanwhile(load.reads),
    refused: readsMeanwhile(load.refusedReads),
    heartbeats: load.heartbeats,
    "heartbeat lost": late,
    revoked: load.revoked,
    "admitted after": load.admitted,
    ...countedColumns(counted),
    ms: first,
    withinMs,
    wrong: failuresIn(counted) + Number(late),
    "settled s": Math.round((performance.now() - began) / 100) / 10,
  };
}

/** When the first site was acknowledged that was sent after that moment; given up after the time to settle. */
async function firstWrite({ sites }: Load, fromMs: number): Promise<number> {
  const endsMs = fromMs + settleMs;
  for (;;) {
    const first = sites.find(({ ackedMs }) => ackedMs > fromMs);
    if (first) return first.ackedMs;
    if (performance.now() > endsMs) return Number.POSITIVE_INFINITY;
    await delay(10);
  }
}
