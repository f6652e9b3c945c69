import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Roots of process trees, by a name for each group. */
export type Groups = Record<string, readonly number[]>;
/** `anonMb` is the part of `pssMb` that depends on no other process. */
export type Usage = { cpuMs: number; pssMb: number; anonMb: number };

/**
 * CPU time so far and memory of each group with all its children; what has ended and was waited for is counted, too.
 */
export function usageOf(groups: Groups): Map<string, Usage> {
  const all = new Map<number, Stat>();
  for (const name of readdirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null;
    if (stat) all.set(Number(name), stat);
  }
  return new Map(
    Object.entries(groups).map(([name, roots]) => {
      const tree = treeOf(roots, all);
      const ticks = tree.reduce((sum, pid) => sum + (all.get(pid)?.ticks ?? 0), 0);
      const memory = tree.map(memoryOf);
      const pssMb = memory.reduce((sum, { pss }) => sum + pss, 0);
      const anonMb = memory.reduce((sum, { anon }) => sum + anon, 0);
      return [name, { cpuMs: ticks * 10, pssMb, anonMb }];
    }),
  );
}

/** Waits until these trees use a tenth of a processor or less, at most a minute. */
export async function untilIdle(roots: readonly number[]): Promise<void> {
  const used = () => usageOf({ all: roots }).get("all")?.cpuMs ?? 0;
  for (let seconds = 0; seconds < 60; seconds++) {
    const before = used();
    await delay(1_000);
    if (used() - before <= 100) return;
  }
}

export const loadAverage = () => Number(readFileSync("/proc/loadavg", "latin1").split(" ")[0]);

type Stat = { parent: number; ticks: number };

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { parent: Number(fields[1]), ticks };
  } catch {
    return null; // The process ended after it was listed.
  }
}

function treeOf(roots: readonly number[], all: ReadonlyMap<number, Stat>): number[] {
  const tree = new Set(roots.filter((pid) => all.has(pid)));
  for (let size = -1; size !== tree.size; ) {
    size = tree.size;
    for (const [pid, { parent }] of all) if (tree.has(parent)) tree.add(pid);
  }
  return [...tree];
}

/** MB. */
function memoryOf(pid: number): { pss: number; anon: number } {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
    const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) / 1_024;
    return { pss: of("Pss"), anon: of("Pss_Anon") };
  } catch {
    return { pss: 0, anon: 0 };
  }
}
