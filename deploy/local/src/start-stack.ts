import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "./ports.ts";
import { gone, signal } from "./process-table.ts";
import { semiSpaceMb } from "./programs.ts";
import { parseReplicas } from "./replicas.ts";
import type { StackFile } from "./stack-file.ts";

export type StartOptions = {
  /** Added to this process's environment (MUSTER_REPLICAS, PASSWORD_SCRYPT_LOG_N …). */
  env?: Record<string, string>;
  /** Kept after `stop` when given; otherwise a temporary folder that goes. */
  dataDir?: string;
  port?: number;
  adminPassword?: string;
  timeoutMs?: number;
};

export type RunningStack = {
  stack: StackFile;
  dataDir: string;
  supervisorPid: number;
  /** What the supervisor printed so far. */
  output(): string;
  /** Re-reads stack.json: pids change when a process was restarted. */
  refresh(): StackFile;
  stop(): Promise<void>;
};

/**
 * Starts a whole cluster as a child process (`dist/main.js`, which must be built) and resolves when it is ready.
 * Rejects with the supervisor's output and the ends of the logs when it ends early or is not ready in time (default 120
 * s).
 */
export async function startStack(options: StartOptions = {}): Promise<RunningStack> {
  const { timeoutMs = 120_000 } = options;
  const dataDir = options.dataDir ?? temporaryDataDir();
  const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
  if (!existsSync(main)) throw new Error(`${main} is not built: run \`npm run build\` first`);
  const gateways = parseReplicas(options.env?.MUSTER_REPLICAS ?? process.env.MUSTER_REPLICAS ?? "").gateway;
  const child = spawn(process.execPath, [`--max-semi-space-size=${semiSpaceMb}`, "--enable-source-maps", main], {
    env: {
      ...process.env,
      PORT: String(options.port ?? (await freePort(new Set(), gateways))),
      MUSTER_DATA_DIR: dataDir,
      ...(options.adminPassword ? { BOOTSTRAP_ADMIN_PASSWORD: options.adminPassword } : {}),
      ...options.env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  let exit: number | string | null = null;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  child.once("exit", (code, by) => {
    exit = code ?? by;
  });
  const pid = child.pid ?? 0;
  const file = join(dataDir, "stack.json");
  const refresh = () => JSON.parse(readFileSync(file, "utf8")) as StackFile;
  const stop = async () => {
    if (exit === null) {
      signal(pid, "SIGTERM");
      if (!(await gone(pid, 20_000))) throw new Error(`The cluster did not stop within 20 s:\n${text}`);
    }
    if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
  };

  const deadline = performance.now() + timeoutMs;
  while (!text.includes("Muster is ready")) {
    const late = performance.now() > deadline;
    if (exit !== null || late) {
      const why = late ? `was not ready within ${timeoutMs / 1000} s` : `ended early (${exit})`;
      const report = `The cluster ${why}.\n${text}\n${logEnds(join(dataDir, "logs"))}`;
      await stop();
      throw new Error(report);
    }
    await delay(50);
  }
  return { stack: refresh(), dataDir, supervisorPid: pid, output: () => text, refresh, stop };
}

/** PostgreSQL's data stays inside also for root, whose folders another user may not enter otherwise. */
function temporaryDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), "muster-stack-"));
  chmodSync(dataDir, 0o711);
  return dataDir;
}

function logEnds(folder: string): string {
  if (!existsSync(folder)) return "";
  const logs = readdirSync(folder).filter((name) => name.endsWith(".log"));
  return logs
    .map((name) => `--- ${name}\n${readFileSync(join(folder, name), "utf8").split("\n").slice(-15).join("\n")}`)
    .join("\n");
}
