import { appendFileSync, renameSync, statSync } from "node:fs";
import type { Spool } from "@muster/agent";
import { version } from "./build-info.ts";
import type { Config } from "./config.ts";

export type Level = Config["logLevel"];

/** Own diagnostics: on standard error and in the state folder, and from a level on sent to the platform. */
export type Logger = (level: Level, component: string, message: string, fields?: Record<string, unknown>) => void;

const levels: readonly Level[] = ["debug", "info", "warn", "error"];
const fileBytesMax = 2 * 1024 * 1024;

export function createLogger(options: { file: string; level: Level; spool?: Spool; now?: () => Date }): Logger {
  const { file, level: lowest, spool, now = () => new Date() } = options;
  const log: Logger = (level, component, message, fields = {}) => {
    if (levels.indexOf(level) < levels.indexOf(lowest)) return;
    const timestamp = now().toISOString();
    const text = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    const line = `${timestamp} ${level} ${component}: ${message}${text.join("")}\n`;
    process.stderr.write(line);
    keepInFile(file, line);
    const entry = { timestamp, level, component, message, agentVersion: version };
    const count = keepInSpool(spool, JSON.stringify(Object.keys(fields).length > 0 ? { ...entry, fields } : entry));
    if (count > 0) log("warn", "logs", "the oldest of its own log are lost: nothing was accepted for long", { count });
  };
  return log;
}

/** Returns how many of the oldest entries were dropped, since the spool was full. */
function keepInSpool(spool: Spool | undefined, entry: string): number {
  try {
    spool?.append([entry]);
  } catch {
    // As below.
  }
  return spool?.takeDropped() ?? 0;
}

/** A disk that is full or read-only must not end the agent: standard error has the line, too. */
function keepInFile(file: string, line: string): void {
  try {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > fileBytesMax) renameSync(file, `${file}.1`);
    appendFileSync(file, line, { mode: 0o600 });
  } catch {
    // Reported by what needs the disk.
  }
}
