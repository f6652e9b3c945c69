import { fork } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { type Caller, uuidv7 } from "@muster/kit";
import { ExportFormat, ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { type ReportRequestSchema, type ReportResponse, ReportService } from "@muster/proto/muster/audit/v1/report_pb";
import { callOptions, createSigner, createTransport, generateCallerKey } from "@muster/rpc";
import { tenantMigrations } from "@muster/service";
import { type TestDatabase, testDatabase } from "@muster/testing";

const local = new URL("../../local/dist/test-cluster.js", import.meta.url);
const migrations = fileURLToPath(new URL("../../../services/audit/migrations/", import.meta.url));
const program = fileURLToPath(new URL("../../../services/audit/dist/main.js", import.meta.url));
const readyMs = 30_000;

type Local = {
  cacheFolders(root: string, temporary: string): string[];
  startTestCluster(folders: string[]): Promise<{ url: string; stop(): Promise<void> }>;
  testNatsServer(folders: string[]): Promise<string>;
};

/**
 * An empty audit database and a nats-server: those of MUSTER_TEST_PG_URL and MUSTER_TEST_NATS_BIN, else temporary ones.
 */
export async function withAuditDatabase(use: (database: TestDatabase) => Promise<void>): Promise<void> {
  const { cacheFolders, startTestCluster, testNatsServer } = (await import(local.href)) as Local;
  const folders = cacheFolders(fileURLToPath(new URL("../../../", import.meta.url)), tmpdir());
  process.env.MUSTER_TEST_NATS_BIN ??= await testNatsServer(folders);
  const cluster = process.env.MUSTER_TEST_PG_URL ? null : await startTestCluster(folders);
  if (cluster) process.env.MUSTER_TEST_PG_URL = cluster.url;
  try {
    const dirs = [tenantMigrations, { label: "audit", path: migrations }];
    const database = await testDatabase({ service: "audit", dirs });
    try {
      await use(database);
    } finally {
      await database.drop();
    }
  } finally {
    if (cluster) {
      // The next database of this run is not in this cluster.
      delete process.env.MUSTER_TEST_PG_URL;
      await cluster.stop();
    }
  }
}

type Logs = Client<typeof AuditLogService>;
type Request = Parameters<Logs["listLogs"]>[0];
type Reply = Awaited<ReturnType<Logs["listLogs"]>>;

export type AuditProcess = {
  listLogs(caller: Caller, request: Request): Promise<Reply>;
  getLog(caller: Caller, id: string): Promise<unknown>;
  report(caller: Caller, request: MessageInitShape<typeof ReportRequestSchema>): Promise<ReportResponse>;
  /** Reads an export to its end: its rows and bytes. */
  exportLogs(caller: Caller, request: Request): Promise<{ rows: number; bytes: number }>;
  /** CPU of the process so far, microseconds, and its memory. */
  usage(): Promise<{ cpuUs: number; rss: number }>;
  stop(): Promise<void>;
};

/** The audit service as a separate process; `onStarted` receives its pid before the process does anything. */
export async function startAudit(
  database: TestDatabase,
  nats: { url: string; seed: string },
  onStarted: (pid: number) => void = () => undefined,
): Promise<AuditProcess> {
  const directory = mkdtempSync(join(tmpdir(), "muster-bench-"));
  const key = generateCallerKey();
  mkdirSync(join(directory, "gateway"));
  writeFileSync(join(directory, "gateway", `${key.kid}.pem`), key.publicPem);
  const child = fork(program, [], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: "production",
      LOG_LEVEL: "error",
      RPC_HOST: "127.0.0.1",
      RPC_PORT: "0",
      OPS_HOST: "127.0.0.1",
      OPS_PORT: "0",
      DATABASE_URL_APP: database.appUrl,
      // No server listens there: copies of tenants stay empty.
      TENANCY_URL: "http://127.0.0.1:1",
      NATS_URL: nats.url,
      NATS_NKEY_SEED: nats.seed,
      CALLER_PRIVATE_KEYS: key.privateKey,
      CALLER_PUBLIC_KEYS_DIR: directory,
      CHECKPOINT_PRIVATE_KEY: `bench:${noteKey()}`,
      SECRET_ENCRYPTION_KEY: `bench:${randomBytes(32).toString("base64")}`,
      // No server listens there: no stream of rows is created here.
      WEBHOOK_DISPATCHER_URL: "http://127.0.0.1:1",
    },
    // To profile it, or to try a setting of V8: BENCH_NODE_OPTIONS="--cpu-prof --cpu-prof-dir=/tmp/profiles".
    execArgv: (process.env.BENCH_NODE_OPTIONS ?? "--max-semi-space-size=64").split(" ").filter(Boolean),
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onStarted(child.pid ?? 0);
  const { rpc, ops } = await new Promise<{ rpc: number; ops: number }>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("audit did not get ready")), readyMs);
    child.once("exit", (status) => reject(new Error(`audit ended with ${status}`)));
    child.once("message", (message: { type: string; message?: string; rpc: number; ops: number }) => {
      clearTimeout(timer);
      if (message.type === "ready") resolve(message);
      else reject(new Error(`audit did not start: ${message.message}`));
    });
  });
  const signer = createSigner({ issuer: "gateway", privateKeys: key.privateKey });
  const transport = createTransport({ baseUrls: [`http://127.0.0.1:${rpc}`], callers: { service: "audit", signer } });
  const client = createClient(AuditLogService, transport);
  const reporting = createClient(ReportService, transport);
  const exporting = createClient(ExportService, transport);
  const options = async (caller: Caller) => {
    const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
    return callOptions({ caller, meta, deadlineMs: performance.now() + 30_000 });
  };
  return {
    listLogs: async (caller, request) => client.listLogs(request, await options(caller)),
    getLog: async (caller, id) => client.getLog({ id }, await options(caller)),
    report: async (caller, request) => reporting.report(request, await options(caller)),
    async exportLogs(caller, filter) {
      const read = { rows: 0, bytes: 0 };
      for await (const { part } of exporting.exportLogs(
        { format: ExportFormat.JSONL, filter },
        await options(caller),
      )) {
        if (part.case === "head") read.rows = part.value.rows;
        else if (part.case === "chunk") read.bytes += part.value.length;
      }
      return read;
    },
    async usage() {
      const text = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text();
      const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
      return { cpuUs: value("process_cpu_seconds_total") * 1_000_000, rss: value("process_resident_memory_bytes") };
    },
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await ended;
      rmSync(directory, { recursive: true });
    },
  };
}

function noteKey(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "der" }).toString("base64");
}
