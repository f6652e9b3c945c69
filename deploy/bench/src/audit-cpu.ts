import { readdirSync, readFileSync } from "node:fs";
import { type Database, sql } from "@muster/db";
import { systemCaller } from "@muster/kit";

const tickUs = 10_000;

type Stat = { parent: number; own: number; ended: number };

/** Fields 4, 14–15 and 16–17 of /proc/<pid>/stat: parent, own CPU, that of children which have ended. */
function stat(pid: number): Stat {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const us = (...at: number[]) => at.reduce((sum, n) => sum + Number(fields[n]), 0) * tickUs;
  return { parent: Number(fields[1]), own: us(11, 12), ended: us(13, 14) };
}

/** CPU of a process so far, microseconds (steps of 10 ms). */
export function cpuUs(pid: number): number {
  return stat(pid).own;
}

/** CPU of a process and its children, those that have ended included. */
export function familyCpuUs(pid: number): number {
  const { own, ended } = stat(pid);
  let sum = own + ended;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const child = stat(Number(name));
      if (child.parent === pid) sum += child.own;
    } catch {
      // The process ended after it was listed.
    }
  }
  return sum;
}

/** Process id of the PostgreSQL server behind `db`, on this machine. */
export async function postmaster(db: Database): Promise<number> {
  const [row] = await db.read<{ pid: number }>({ caller: systemCaller("audit") }, sql`SELECT pg_backend_pid() AS pid`);
  return stat(row?.pid ?? 0).parent;
}
