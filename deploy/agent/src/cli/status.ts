import type { AgentIdentity } from "@muster/agent";
import { versionLine } from "../build-info.ts";
import { causeOf } from "../causes.ts";
import type { Config } from "../config.ts";
import { linkTarget, readStored } from "../durable.ts";
import { exitCodes } from "../exit-codes.ts";
import { holderOf } from "../folder-lock.ts";
import type { Status } from "../hosts/host-status.ts";
import { readUpdate } from "../install/update-state.ts";
import { pathsOf } from "../paths.ts";

/** Heartbeats that may be missing before the machine counts as offline. */
const missedMax = 3;

/** Prints whether this machine is online and what comes next. Returns 0 when it is, else the code of the last error. */
export function status(config: Config): number {
  const paths = pathsOf(config);
  const identity = readStored<AgentIdentity>(paths.identity);
  const stored = readStored<Status>(paths.status);
  const update = readUpdate(paths);
  const agent = holderOf(paths.agentLock);
  const ageMs = Date.now() - Date.parse(stored?.lastHeartbeatAt ?? "");
  const isOnline = agent !== null && ageMs < missedMax * (identity?.intervalSeconds ?? 60) * 1000;
  const cause = stored?.lastError ? causeOf(stored.lastError) : null;
  const lines: [string, string][] = [
    ["state", isOnline ? `online since ${stored?.onlineSince}` : agent ? "not online" : "not running"],
    ["device", identity?.agentId ?? "not enrolled"],
    ["platform", config.url],
    ["last heartbeat", stored?.lastHeartbeatAt ?? "none"],
    ["last error", cause === null ? "none" : `${cause.text}: ${cause.cure}`],
    ["device status", stored?.status ?? "unknown"],
    ["clock", stored?.clockOffsetSeconds == null ? "unknown" : `${stored.clockOffsetSeconds} s off the platform's`],
    ["agent", `${stored?.version ?? "unknown"} (${linkTarget(paths.links.agent.current) ?? "not installed"})`],
    ["watchdog", readStored<{ version: string }>(paths.alive.watchdog)?.version ?? "none"],
    ["next", nextOf(update, stored)],
    ["program", versionLine()],
  ];
  for (const [name, value] of lines) process.stdout.write(`${name.padEnd(16)}${value}\n`);
  return isOnline ? exitCodes.ok : (cause?.exitCode ?? exitCodes.failed);
}

function nextOf(update: ReturnType<typeof readUpdate>, stored: Status | null): string {
  if (update?.step === "rolledBack")
    return `${update.component} ${update.version} was rolled back: ${update.error ?? ""}`;
  if (update) return `${update.component} ${update.version}: ${update.step}`;
  return stored?.offered ? `update to ${stored.offered}` : "nothing is offered";
}
