import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Run } from "./keep-running.ts";
import { gone, signal } from "./process-table.ts";

export type ChildOptions = {
  program: string;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  logFile: string;
  /** Receives what the child sends over its channel; no channel without it. */
  onMessage?: (message: unknown) => void;
};

/**
 * Starts a child in its own session, with its output in its log: a group's SIGTERM or a Ctrl-C reaches the supervisor
 * alone, which then stops its children in order.
 */
export async function startChild(options: ChildOptions): Promise<Run> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, "a", 0o600);
  let child: ChildProcess;
  try {
    child = spawn(options.program, options.args, {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: options.onMessage ? ["ignore", log, log, "ipc"] : ["ignore", log, log],
    });
  } finally {
    closeSync(log);
  }
  const { onMessage } = options;
  if (onMessage) child.on("message", onMessage);
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, by) => resolve(describeEnd(code, by, lastFatal(options.logFile))));
  });
  const pid = child.pid;
  if (pid === undefined) throw new Error(await ended);
  return { pid, ended, stop: (graceMs) => endChild(pid, graceMs) };
}

async function endChild(pid: number, graceMs: number): Promise<void> {
  signal(pid, "SIGTERM");
  if (await gone(pid, graceMs)) return;
  signal(pid, "SIGKILL");
  await gone(pid, 2_000);
}

export function describeEnd(code: number | null, by: NodeJS.Signals | null, fatal: string | null): string {
  const how = by ? `killed by ${by}` : `exit status ${code}`;
  return fatal && code !== 0 && !by ? `${how}, ${fatal}` : how;
}

/** The message of the last fatal line among a log's newest 64 KB of JSON lines, with its error. */
export function lastFatal(logFile: string): string | null {
  if (!existsSync(logFile)) return null;
  const size = statSync(logFile).size;
  const bytes = Buffer.alloc(Math.min(size, 65_536));
  const file = openSync(logFile, "r");
  try {
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
  } finally {
    closeSync(file);
  }
  const line = bytes
    .toString("utf8")
    .split("\n")
    .findLast((text) => text.includes('"level":"fatal"'));
  if (!line) return null;
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
    return [msg, err?.message].filter(Boolean).join(": ") || null;
  } catch {
    // The line began before the part that was read.
    return null;
  }
}

/** Keeps the log of the start before as `.1`. */
export function rotateLog(logFile: string): void {
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`);
}
