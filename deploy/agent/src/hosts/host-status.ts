import fs from "node:fs";
import { messageOf } from "@muster/kit/agent";
import { version } from "../build-info.ts";
import { readStored } from "../durable.ts";
import type { Logger } from "../logger.ts";
import type { Paths } from "../paths.ts";

/** What `muster-agent status` shows of a running agent. */
export type Status = {
  pid: number;
  version: string;
  startedAt: string;
  onlineSince: string | null;
  lastHeartbeatAt: string | null;
  status: string | null;
  offered: string | null;
  serverTime: string | null;
  clockOffsetSeconds: number | null;
  /** Name of the cause of the last failed request (`causeOf`); null since the last success. */
  lastError: string | null;
};

/** A clock beyond that is reported: times in logs, and validities of certificates, are wrong with it. */
export const clockOffsetMaxSeconds = 300;

const isOff = (seconds: number | null): boolean => Math.abs(seconds ?? 0) > clockOffsetMaxSeconds;

const clockText = (seconds: number): string =>
  `the clock of this machine is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the platform's: set it, such as by NTP`;

/** The status of a process that starts; the server's last time outlives it. */
export function newStatus(paths: Paths): Status {
  const before = readStored<Status>(paths.status);
  return {
    pid: process.pid,
    version,
    startedAt: new Date().toISOString(),
    onlineSince: null,
    lastHeartbeatAt: null,
    status: null,
    offered: null,
    serverTime: before?.serverTime ?? null,
    clockOffsetSeconds: null,
    lastError: null,
  };
}

export function writeStatus(paths: Paths, status: Status, log: Logger): void {
  try {
    fs.writeFileSync(`${paths.status}.new`, JSON.stringify(status), { mode: 0o600 });
    fs.renameSync(`${paths.status}.new`, paths.status);
  } catch (error) {
    log("warn", "state", "the status cannot be stored", { error: messageOf(error) });
  }
}

/** What an accepted heartbeat tells. */
export function noteHeartbeat(
  status: Status,
  reply: { status?: unknown; upgradeTo?: unknown; serverTime?: unknown },
  log: Logger,
): void {
  const wasOff = isOff(status.clockOffsetSeconds);
  const now = new Date().toISOString();
  status.onlineSince ??= now;
  status.lastHeartbeatAt = now;
  status.status = String(reply.status);
  status.offered = typeof reply.upgradeTo === "string" ? reply.upgradeTo : null;
  status.serverTime = String(reply.serverTime);
  status.clockOffsetSeconds = Math.round((Date.now() - Date.parse(status.serverTime)) / 1000);
  status.lastError = null;
  if (isOff(status.clockOffsetSeconds) && !wasOff) log("warn", "agent", clockText(status.clockOffsetSeconds ?? 0));
}
