import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningStack, rotateClusterCertificates } from "@muster/local";
import type { Pair } from "./failover-postgres.ts";
import type { SmallDisk } from "./small-disk.ts";

const resumeAfterMs = Number(process.env.FAILOVER_PAUSE_MS ?? 60_000);
const fullForMs = 10_000;
const writeWithinMs = { promotion: 3_000, election: 5_000 };

export type Struck = { pair: Pair | null; running: RunningStack; natsDisk: SmallDisk | null };

/**
 * Where the fault happens: a pair of PostgreSQL servers; such a pair, where each server and a NATS server has its own
 * small disk; one PostgreSQL behind PgBouncer in transaction mode.
 */
export type Setup = "pair" | "small disks" | "pooled";

export type Fault = {
  /**
   * Causes the fault; resolves with the moment from which writes should continue, and the milliseconds within which
   * they must.
   */
  strike(at: Struck): Promise<{ fromMs: number; withinMs: number }>;
  /** The pair has one server less afterwards. */
  rebuilds?: boolean;
  /** Where the fault happens; a pair by default. */
  setup?: Setup;
};

function pairOf({ pair }: Struck): Pair {
  if (!pair) throw new Error("this cluster has no pair of PostgreSQL servers");
  return pair;
}

const natsPid = (running: RunningStack, n: number) => running.refresh().natsServers[n]?.pid ?? 0;

/** Where a server of the cluster keeps its streams, within the data folder. */
export const natsStore = (n: number) => join(n === 0 ? "nats" : `nats-${n + 1}`, "store");

/** The server is started again at once: its store goes before it is killed, or it would come back on half of it. */
async function emptied(running: RunningStack, n: number): Promise<void> {
  const pid = natsPid(running, n);
  const store = join(running.dataDir, natsStore(n));
  const gone = `${store}.gone`;
  renameSync(store, gone);
  process.kill(pid, "SIGKILL");
  while (existsSync(`/proc/${pid}/exe`)) await delay(2);
  rmSync(gone, { recursive: true, force: true });
}

export const faults: Record<string, Fault> = {
  "primary killed": {
    rebuilds: true,
    async strike(at) {
      const pair = pairOf(at);
      const promoted = pair.promoted();
      pair.kill();
      return { fromMs: await promoted, withinMs: writeWithinMs.promotion };
    },
  },
  "switch-over": {
    rebuilds: true,
    async strike(at) {
      const pair = pairOf(at);
      const promoted = pair.promoted();
      pair.stop();
      return { fromMs: await promoted, withinMs: writeWithinMs.promotion };
    },
  },
  "primary paused": {
    async strike(at) {
      const pair = pairOf(at);
      pair.pause();
      await delay(resumeAfterMs);
      pair.resume();
      return { fromMs: performance.now(), withinMs: writeWithinMs.promotion };
    },
  },
  "connections cut": {
    async strike(at) {
      const pair = pairOf(at);
      pair.disconnect();
      return { fromMs: performance.now(), withinMs: writeWithinMs.promotion };
    },
  },
  "certificates replaced": {
    async strike({ running }) {
      await rotateClusterCertificates(running.dataDir);
      return { fromMs: performance.now(), withinMs: writeWithinMs.promotion };
    },
  },
  "NATS server killed": {
    async strike({ running }) {
      process.kill(natsPid(running, 0), "SIGKILL");
      return { fromMs: performance.now(), withinMs: writeWithinMs.election };
    },
  },
  "two NATS servers killed": {
    async strike({ running }) {
      for (const n of [1, 2]) process.kill(natsPid(running, n), "SIGKILL");
      return { fromMs: performance.now(), withinMs: writeWithinMs.election };
    },
  },
  "NATS server emptied": {
    async strike({ running }) {
      await emptied(running, 0);
      return { fromMs: performance.now(), withinMs: writeWithinMs.election };
    },
  },
  "every NATS server emptied": {
    async strike({ running }) {
      await Promise.all([0, 1, 2].map((n) => emptied(running, n)));
      return { fromMs: performance.now(), withinMs: writeWithinMs.election };
    },
  },
  "disk of the primary full": {
    setup: "small disks",
    async strike(at) {
      const pair = pairOf(at);
      pair.fillDisk();
      await delay(fullForMs);
      pair.freeDisk();
      return { fromMs: performance.now(), withinMs: writeWithinMs.promotion };
    },
  },
  "disk of a NATS server full": {
    setup: "small disks",
    async strike({ running, natsDisk }) {
      const fromMs = performance.now();
      natsDisk?.fill();
      await delay(fullForMs);
      natsDisk?.free();
      // As the probe of its health does: a server that ran out of space keeps no streams until it is started again.
      process.kill(natsPid(running, 1), "SIGKILL");
      return { fromMs, withinMs: writeWithinMs.election };
    },
  },
  "PgBouncer killed": {
    setup: "pooled",
    async strike({ running }) {
      process.kill(running.refresh().pgbouncer?.pid ?? 0, "SIGKILL");
      return { fromMs: performance.now(), withinMs: writeWithinMs.promotion };
    },
  },
};
