import { ConfigError } from "../settings/config.ts";
import type { Logger } from "../telemetry/logger.ts";
import { createLogger } from "../telemetry/logger.ts";
import { startDefaultMetrics } from "../telemetry/metrics.ts";
import { flushTelemetry } from "../telemetry/tracing.ts";
import { shrinkWhenIdle } from "./idle-memory.ts";
import { leftResources } from "./left-resources.ts";
import { type OpsServer, startOps } from "./ops.ts";
import { Readiness } from "./readiness.ts";

export type Stop = () => Promise<void> | void;

export type Process = {
  log: Logger;
  readiness: Readiness;
  /** Aborted when the process begins to stop. */
  stopping: AbortSignal;
  /** Registers what must be closed; closed in reverse order of registration. */
  onStop(name: string, stop: Stop): void;
  /** Announces addresses and readiness to the parent process. */
  ready(addresses: Record<string, number | string>): void;
};

type Options = {
  name: string;
  /** Of the program; in its log and metrics. */
  version: string;
  level?: string;
  opsHost: string;
  opsPort: number;
  drainDelayMs: number;
  drainGraceMs: number;
};

/** Milliseconds that closed connections may take to be gone. */
const closingMs = 1_000;

/** With everything stopped nothing keeps the process alive; what does, a part without a stop, is logged and ended. */
function endByItself(log: Logger, status: number): void {
  process.exitCode = status;
  process.channel?.unref();
  const end = () => {
    log.warn({ left: leftResources() }, "something was not stopped");
    process.exit(status);
  };
  setTimeout(end, closingMs).unref();
}

/**
 * Runs a process from start to ordered stop. SIGTERM or SIGINT: readiness off, drain delay, then every registered stop
 * in reverse order, bounded by the grace. An error at start, or an uncaught one, is logged and ends it with status 1.
 */
export async function runProcess(options: Options, start: (process: Process) => Promise<void>): Promise<void> {
  const log = createLogger(options.name, options.level);
  const readiness = new Readiness();
  const stopping = new AbortController();
  const stops: { name: string; stop: Stop }[] = [];
  let ops: OpsServer | undefined;
  let ending: Promise<void> | undefined;

  const end = (status: number, reason: string): Promise<void> => {
    ending ??= (async () => {
      log.info({ reason }, "stopping");
      readiness.set("draining");
      stopping.abort();
      const hardStop = setTimeout(() => process.exit(status || 1), options.drainDelayMs + options.drainGraceMs + 5_000);
      if (status === 0 && options.drainDelayMs > 0) await new Promise((r) => setTimeout(r, options.drainDelayMs));
      for (const { name, stop } of stops.reverse()) {
        try {
          await stop();
        } catch (err) {
          log.error({ err, part: name }, "stop failed");
        }
      }
      await ops?.close();
      await flushTelemetry();
      clearTimeout(hardStop);
      log.info("stopped");
      endByItself(log, status);
    })();
    return ending;
  };

  process.on("SIGTERM", () => void end(0, "SIGTERM"));
  process.on("SIGINT", () => void end(0, "SIGINT"));
  // Under a supervisor: a closed channel means that the supervisor has ended, and nothing else would stop this process.
  if (process.send) process.on("disconnect", () => void end(0, "supervisor gone"));
  // The supervisor may have ended while this process was still loading.
  if (process.send && !process.connected) return end(0, "supervisor gone");
  const fatal = (err: unknown) => {
    log.fatal({ err }, "uncaught error");
    void end(1, "uncaught error");
  };
  process.on("uncaughtException", fatal);
  process.on("unhandledRejection", fatal);

  try {
    startDefaultMetrics(options.version);
    const opsServer = await startOps({ host: options.opsHost, port: options.opsPort, readiness });
    ops = opsServer;
    await start({
      log,
      readiness,
      stopping: stopping.signal,
      onStop: (name, stop) => stops.push({ name, stop }),
      ready: (addresses) => {
        readiness.set("ready");
        const message = { ...addresses, ops: opsServer.port };
        log.info(message, "ready");
        shrinkWhenIdle((err) => log.warn({ err }, "the heap was not shrunk"));
        process.send?.({ type: "ready", ...message });
      },
    });
  } catch (err) {
    if (err instanceof ConfigError) log.fatal(err.message);
    else log.fatal({ err }, "start failed");
    process.send?.({ type: "failed", message: err instanceof Error ? err.message : String(err) });
    await end(1, "start failed");
  }
}
