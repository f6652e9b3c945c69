import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { codeOf } from "@muster/kit/agent";
import { textIn } from "./durable.ts";
import { AgentError, exitCodes } from "./exit-codes.ts";

/** A process by its id and the moment of its start: an id alone is used again. */
export type ProcessId = { pid: number; started: string };

/** Ticks since the boot at which a process started; empty where the system does not tell, null for no process. */
export function startOf(pid: number): string | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) !== "EPERM") return null;
  }
  if (process.platform !== "linux") return "";
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name in brackets, which may hold anything: state is the first field, the start the twentieth.
    const rest = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return rest[0] === "Z" ? null : (rest[19] ?? "");
  } catch {
    return null;
  }
}

export const isRunning = ({ pid, started }: ProcessId): boolean => startOf(pid) === started;

/** The running process that holds a lock; null when none does. */
export function holderOf(path: string): ProcessId | null {
  const [pid, started = ""] = textIn(path).split(" ");
  const holder = { pid: Number(pid), started: started.trim() };
  return holder.pid > 0 && isRunning(holder) ? holder : null;
}

/** Takes a lock, which ends with this process. Throws an AgentError when another process holds it. */
export function takeLock(path: string, what: string): void {
  const own = `${process.pid} ${startOf(process.pid) ?? ""}`;
  const partial = `${path}.${process.pid}`;
  rmSync(partial, { force: true });
  writeFileSync(partial, own, { mode: 0o600, flag: "wx" });
  try {
    for (let tries = 0; tries < 10; tries++) {
      if (linked(partial, path)) return;
      const holder = holderOf(path);
      if (holder !== null) {
        throw new AgentError(exitCodes.inUse, `${what} of this folder runs already (process ${holder.pid}, ${path})`);
      }
      removeStale(path);
    }
    throw new AgentError(exitCodes.inUse, `${path} could not be taken`);
  } finally {
    rmSync(partial, { force: true });
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Another process may have taken it meanwhile: what was moved away by mistake is put back. */
function removeStale(path: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (holderOf(aside) !== null) linked(aside, path);
  rmSync(aside, { force: true });
}
