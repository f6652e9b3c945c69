import { rmSync } from "node:fs";
import {
  type Agent,
  answerOf,
  type Channel,
  createAgent,
  createApi,
  createStopping,
  openChannel,
  openSpool,
  proxyFor,
  type Spool,
  type Stopping,
  ship,
} from "@muster/agent";
import { messageOf } from "@muster/kit/agent";
import { version } from "./build-info.ts";
import { causeOf, isSameCause } from "./causes.ts";
import type { Config } from "./config.ts";
import { diskError, exitCodes } from "./exit-codes.ts";
import { takeLock } from "./folder-lock.ts";
import { followSource } from "./follow-source.ts";
import type { EventSource } from "./hosts/event-source.ts";
import { journalSource } from "./hosts/journal.ts";
import { type RealHost, realHost } from "./hosts/real-host.ts";
import { syslogFileSource } from "./hosts/syslog-file.ts";
import { unifiedLogSource } from "./hosts/unified-log.ts";
import { windowsEventSource } from "./hosts/windows-events.ts";
import { openIdentity, prepareFolder } from "./identity-file.ts";
import { replaceWatchdog } from "./install/replace-watchdog.ts";
import { createLogger, type Logger } from "./logger.ts";
import { type Paths, pathsOf } from "./paths.ts";
import { millisecondsOf } from "./test-times.ts";
import { certificates, pinnedRoot } from "./trust.ts";

const spoolBytes = 64 * 1024 * 1024;
/** The agent: online until the process is stopped, or another version replaces it. Returns the exit code. */
export async function run(config: Config, stopping: Stopping = createStopping()): Promise<number> {
  const paths = pathsOf(config);
  prepareFolder(paths.stateFolder);
  takeLock(paths.agentLock, "An agent");
  const logs = openSpool(paths.logSpool, spoolBytes / 8);
  const log = createLogger({ file: paths.log, level: config.logLevel, spool: logs });
  log("info", "agent", `agent ${version} started`, { url: config.url });
  const ca = certificates(config);
  const file = openIdentity(paths);
  const host = realHost({
    config,
    paths,
    file,
    log,
    steadyMs: millisecondsOf("MUSTER_AGENT_STEADY_SECONDS"),
    replaceWatchdog: (wanted) => replaceWatchdog({ paths, log, service: config.service, version: wanted }),
  });
  await host.finishWatchdog();
  const api = createApi({ url: config.url, connections: 4, userAgent: `muster-agent/${version}`, ca, proxies: true });
  const agent = createAgent({
    api,
    host,
    stopping,
    firstReport: host.firstReport,
    count: (name) => countOf(host, log, name),
    settings: {
      intervalSeconds: config.heartbeatSeconds,
      startSpreadMs: 0,
      rotateSeconds: config.rotateTokenDays * 86_400,
      updates: "reported",
      liftable: "waits",
      pinned: pinnedRoot(config),
    },
  });
  let channel: Channel | null = null;
  const work: Promise<void>[] = [];
  const ready = () => {
    rmSync(paths.enrollmentKey, { force: true });
    log("info", "agent", "online", { deviceId: file.identity.agentId });
    channel = startWork({ config, paths, log, stopping, agent, host, logs, ca }, work);
  };
  try {
    await agent.run(ready);
  } finally {
    stopping.stop();
    (channel as Channel | null)?.stop();
    await api.close();
    await Promise.allSettled(work);
  }
  if (agent.state === "silent") return exitCodes.restart;
  if (agent.state !== "ended") return exitCodes.ok;
  const { text, cure, exitCode } = causeOf(agent.reason);
  log("error", "agent", `${text}: ${cure}`);
  return exitCode;
}

/** Errors of requests are logged once per cause, until the next success. */
function countOf(host: RealHost, log: Logger, name: string): void {
  const [, request, cause] = /^(heartbeat|enrollment|rotation) (.+)$/.exec(name) ?? [];
  if (cause === undefined || isSameCause(host.status.lastError, cause)) return;
  host.status.lastError = cause;
  const { text, cure } = causeOf(cause);
  log("warn", "agent", `${text}: ${cure}`, { request });
  host.storeStatus();
}

type WorkDeps = {
  config: Config;
  paths: Paths;
  log: Logger;
  stopping: Stopping;
  agent: Agent;
  host: RealHost;
  logs: Spool;
  ca: readonly string[];
};

/** What an online agent does besides heartbeats: it sends its logs, and answers live queries. */
function startWork(deps: WorkDeps, work: Promise<void>[]): Channel {
  const { config, paths, log, stopping, agent, host, logs, ca } = deps;
  const events = openSpool(paths.eventSpool, spoolBytes);
  const source = sourceOf(config, host.identity.hostname);
  const refused = (count: number, reason: string) =>
    log("warn", "logs", "the platform refused entries", { count, reason });
  let lastFailure = "";
  const failed = (error: unknown) => {
    const text = diskError(error)?.message ?? messageOf(error);
    if (text !== lastFailure) log("warn", "logs", "what was sent cannot be removed: it is sent again", { error: text });
    lastFailure = text;
  };
  const shipper = { call: agent.call, stopping, refused, failed };
  work.push(ship(shipper, { spool: events, method: "PUT", path: "/eventlogs", member: "events" }));
  work.push(ship(shipper, { spool: logs, method: "POST", path: "/logs", member: "logs" }));
  if (source) work.push(followSource({ source, events, cursorFile: paths.cursor, log, stopping }));
  return openChannel({
    baseUrl: () => config.url,
    agentId: host.identity.agentId ?? "",
    token: () => host.identity.token ?? "",
    ca,
    proxyOf: proxyFor,
    answer: async (operation, params, signal) =>
      source?.store ? answerOf(source.store, operation, params, signal) : { code: "not supported on this system yet" },
    onState: (state, code) => log("debug", "channel", state, { code }),
  });
}

/** Where this system's events come from; null when nothing reads them. */
function sourceOf({ eventLogs }: Config, hostname: string): EventSource | null {
  if (eventLogs === "none") return null;
  if (eventLogs !== "system") return syslogFileSource(eventLogs.file, hostname);
  switch (process.platform) {
    case "linux":
      return journalSource(hostname);
    case "darwin":
      return unifiedLogSource();
    case "win32":
      return windowsEventSource();
    default:
      return null;
  }
}
