import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { codeOf } from "@muster/kit/light";

/** Whether a process with this id exists (a zombie counts as gone). */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
  return linuxStat(pid)?.state !== "Z";
}

/** The command line of a process, arguments separated by spaces; null when it is gone or may not be seen. */
export function commandOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() || null;
  } catch {
    if (process.platform === "linux") return null;
    const ps = spawnSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
    return ps.status === 0 ? ps.stdout.trim() || null : null;
  }
}

/** When a process began, as an opaque text: a recycled pid has another one. Null when it is gone. */
export function birthOf(pid: number): string | null {
  if (process.platform === "linux") return linuxStat(pid)?.started ?? null;
  const ps = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
  return ps.status === 0 ? ps.stdout.trim() || null : null;
}

/** Waits until the process is gone; false when it still exists after the deadline. */
export async function gone(pid: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (alive(pid)) {
    if (performance.now() > deadline) return false;
    await delay(20);
  }
  return true;
}

/**
 * Ends a recorded process: SIGTERM, after the grace SIGKILL. Signals only when its command line holds `marker`, so that
 * a recycled pid is never hit. Answers whether such a process was there.
 */
export async function endRecorded(pid: number, marker: string, graceMs: number): Promise<boolean> {
  const ours = () => alive(pid) && (commandOf(pid)?.includes(marker) ?? false);
  if (!ours()) return false;
  signal(pid, "SIGTERM");
  if (!(await gone(pid, graceMs)) && ours()) {
    signal(pid, "SIGKILL");
    await gone(pid, 2_000);
  }
  return true;
}

/** Sends a signal; a process that is already gone is fine. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

function linuxStat(pid: number): { state: string; started: string } | null {
  try {
    // The command name is in parentheses and may contain anything; fields are counted after the last one (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return { state: fields[0] ?? "", started: fields[19] ?? "" };
  } catch {
    return null;
  }
}
