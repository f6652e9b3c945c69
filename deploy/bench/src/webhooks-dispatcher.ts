import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateCallerKey } from "@muster/rpc";
import { type TestDatabase, type TestNats, testCaFile } from "@muster/testing";

const program = fileURLToPath(new URL("../../../services/webhook-dispatcher/dist/main.js", import.meta.url));
export const encryptionKey = `bench:${Buffer.alloc(32, 1).toString("base64")}`;
const readyMs = 60_000;

/**
 * Events matched, deliveries that matching queued, deliveries claimed, attempts answered and stored, events stored in
 * the backlog.
 */
export type Passed = { matched: number; queued: number; claimed: number; stored: number; aside: number };

export type Dispatcher = {
  pid: number;
  /** CPU so far in microseconds and memory in bytes. */
  usage(): Promise<{ cpuUs: number; rss: number }>;
  /** How many events and deliveries have passed each stage so far. */
  passed(): Promise<Passed>;
  kill9(): Promise<void>;
  stop(): Promise<void>;
};

/** One process of the service over the stores of a bench; `directory` receives its public key. */
export async function startDispatcher(
  database: TestDatabase,
  nats: TestNats,
  directory: string,
  env: Record<string, string>,
  onStarted: (pid: number) => void,
): Promise<Dispatcher> {
  const key = generateCallerKey();
  mkdirSync(join(directory, "gateway"), { recursive: true });
  writeFileSync(join(directory, "gateway", `${key.kid}.pem`), key.publicPem);
  const child: ChildProcess = fork(program, [], {
    env: {
      PATH: process.env.PATH,
      // Not production: the receivers are exceptions.
      NODE_ENV: "test",
      LOG_LEVEL: "error",
      RPC_HOST: "127.0.0.1",
      RPC_PORT: "0",
      OPS_HOST: "127.0.0.1",
      OPS_PORT: "0",
      DATABASE_URL_APP: database.appUrl,
      // No server listens there: copies of tenants stay empty.
      TENANCY_URL: "http://127.0.0.1:1",
      NATS_URL: nats.url,
      NATS_NKEY_SEED: nats.seeds["webhook-dispatcher"],
      CALLER_PRIVATE_KEYS: key.privateKey,
      CALLER_PUBLIC_KEYS_DIR: directory,
      SECRET_ENCRYPTION_KEY: encryptionKey,
      NODE_EXTRA_CA_CERTS: testCaFile,
      ...env,
    },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onStarted(child.pid ?? 0);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const { ops } = await new Promise<{ ops: number }>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the dispatcher did not get ready")), readyMs);
    child.once("exit", (status) => reject(new Error(`the dispatcher ended with ${status}`)));
    child.once("message", (message: { type: string; message?: string; ops: number }) => {
      clearTimeout(timer);
      if (message.type === "ready") resolve(message);
      else reject(new Error(`the dispatcher did not start: ${message.message}`));
    });
  });
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  const metrics = async () => {
    const text = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text();
    return (metric: string, missing: number) =>
      Number(new RegExp(`^${metric} (\\S+)$`, "m").exec(text)?.[1] ?? missing);
  };
  return {
    pid: child.pid ?? 0,
    async passed() {
      const value = await metrics();
      return {
        matched: value('muster_webhook_dispatcher_events_matched_total{outcome="taken"}', 0),
        queued: value("muster_webhook_dispatcher_deliveries_queued_total", 0),
        claimed: value("muster_webhook_dispatcher_deliveries_claimed_total", 0),
        stored: value('muster_webhook_dispatcher_attempts_total{outcome="delivered"}', 0),
        aside: value("muster_webhook_dispatcher_events_backlogged_total", 0),
      };
    },
    async usage() {
      const metric = await metrics();
      const value = (name: string) => metric(name, Number.NaN);
      return { cpuUs: value("process_cpu_seconds_total") * 1_000_000, rss: value("process_resident_memory_bytes") };
    },
    kill9: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
  };
}
