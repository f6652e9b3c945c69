import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { codeOf, sleep } from "@muster/kit/light";
import { type Base, baseNames, basePorts, startBase } from "./base.ts";
import { rotateLog } from "./child.ts";
import type { LocalConfig } from "./config.ts";
import { buildConsole } from "./console.ts";
import { guardSuffix, type Lock, openDataFolder, readJson, takeDataFolder, writeJson } from "./data-folder.ts";
import { startDatabaseWork } from "./database-work.ts";
import { firstAdmin } from "./first-admin.ts";
import type { SupervisedProcess } from "./keep-running.ts";
import { loadKeys } from "./keys.ts";
import { claimPort, portState, stablePorts } from "./ports.ts";
import { Problem } from "./problem.ts";
import { signal } from "./process-table.ts";
import { instancesOf, type Program, portNames, runProgram } from "./programs.ts";
import { readyScreen, stepLine } from "./screen.ts";
import { describeStack, gatewayUrl, publicUrl } from "./stack-file.ts";

/** Milliseconds each group may take before it is killed; together within the 15 s that a stop may last. */
const graceMs = { gateway: 3_500, services: 4_000, nats: 2_000, postgres: 4_000 };
const slowStartMs = 60_000;
const healthyMs = 15_000;

/** A cluster that is coming up or runs: everything the supervisor started, and how it ends. */
export class Stack {
  readonly #config: LocalConfig;
  readonly #say: (line: string) => void;
  readonly #processes = new Map<string, SupervisedProcess>();
  readonly #began = performance.now();
  #lock: Lock | null = null;
  #publish: () => void = () => undefined;
  #base: Promise<Base> | null = null;
  #stopping: Promise<void> | null = null;
  readonly #stopped = new AbortController();

  constructor(config: LocalConfig, say: (line: string) => void) {
    this.#config = config;
    this.#say = say;
  }

  /** Starts everything and returns when all of it serves. Throws a `Problem` when the base cannot be had. */
  async start(): Promise<void> {
    const { dataDir, host, port } = this.#config;
    const gatewayPorts = Array.from({ length: this.#config.replicas.gateway }, (_, index) => port + index);
    const firstGateway = gatewayUrl(host, port);
    openDataFolder(dataDir);
    this.#lock = await takeDataFolder(dataDir, firstGateway);
    const { leftOver } = this.#lock;
    if (leftOver.length > 0) this.#say(`  ended what a killed supervisor left running: ${leftOver.join(", ")}`);
    for (const each of gatewayPorts) await requirePort(each, host);
    // The parent process of this supervisor may have claimed them for it.
    for (const each of gatewayPorts) await claimPort(each);
    rmSync(this.#stackFile, { force: true });
    rotateLogs(join(dataDir, "logs"));
    const consoleBuild = buildConsole(this.#stopped.signal);
    const keys = loadKeys(dataDir);
    const first = firstAdmin(dataDir, this.#config.adminPassword);
    const ports = await lastPorts(
      dataDir,
      [...basePorts(this.#config), ...portNames(this.#config.replicas)],
      gatewayPorts,
    );
    const instances = instancesOf(this.#config.replicas, port, ports);

    this.#publish = () => this.#lock?.update(this.#pids());
    const work = startDatabaseWork();
    this.#base = startBase({
      config: this.#config,
      keys,
      ports,
      prepareDatabase: work.prepare,
      adopt: (name, supervised) => this.#processes.set(name, supervised),
      changed: this.#changed,
      say: this.#say,
    });
    const base = await this.#base;
    this.#step("PostgreSQL", base.postgresAt);
    this.#step("NATS", base.natsAt);
    const { natsUrl, natsReplicas, database, certificates } = base;
    this.#publish = () => {
      this.#lock?.update(this.#pids());
      const pidOf = (name: string) => this.#processes.get(name)?.pid() ?? null;
      const own = {
        ownPostgres: !this.#config.databaseUrl,
        ownNats: !this.#config.natsUrl,
        natsServers: baseNames.filter((name) => name.startsWith("nats") && this.#processes.has(name)),
        pooled: this.#config.pooled,
        certificates,
      };
      const stack = describeStack({ host, instances, pidOf, databaseUrl: database.umbrella, natsUrl, dataDir, ...own });
      writeJson(this.#stackFile, stack);
    };

    await work.migrate(database);
    work.end();
    if (this.#stopping) return;
    this.#step("migrations", "six schemas");

    const admin = { email: this.#config.adminEmail, password: first.password };
    const archiveDir = join(dataDir, "archive");
    const releaseDir = join(dataDir, "releases");
    const around = {
      host,
      publicUrl: publicUrl(host, port),
      mailDir: process.env.NODE_ENV === "production" ? null : join(dataDir, "mail"),
      natsUrl,
      natsReplicas,
      certificates,
      database,
      keys,
      instances,
      archiveDir,
      releaseDir,
      admin,
    };
    const consoleProblem = await consoleBuild;
    if (this.#stopping) return;
    if (consoleProblem) this.#say(`  the console was not built: ${consoleProblem}`);
    const programs = new Map<string, Program>();
    for (const instance of instances) {
      if (this.#stopping) return;
      const program = runProgram({
        instance,
        around,
        dataDir,
        changed: this.#changed,
        say: this.#say,
        longestWaitMs: this.#config.restartWaitMaxMs,
      });
      programs.set(instance.name, program);
      this.#processes.set(instance.name, program.supervised);
      void program.ready.then(() => this.#step(instance.name, `port ${instance.port || instance.opsPort}`));
    }
    const all = Promise.all([...programs.values()].map(({ ready }) => ready));
    const slow = setTimeout(() => this.#say(stillWaiting(programs, dataDir)), slowStartMs);
    await all;
    clearTimeout(slow);
    const sick = await unhealthy(`${firstGateway}/health`);
    if (this.#stopping) return;
    if (sick) this.#say(`  ${sick}`);
    this.#say(
      readyScreen({
        gatewayUrls: gatewayPorts.map((each) => gatewayUrl(host, each)),
        consoleUrl: publicUrl(host, port),
        adminEmail: admin.email,
        adminPassword: first.generated ? (first.password ?? null) : null,
        dataDir,
        seconds: this.#seconds(),
      }),
    );
    admin.password = undefined;
    first.done();
  }

  /** Stops gateway, services, NATS, PostgreSQL, in this order, within 15 s. */
  stop(): Promise<void> {
    this.#stopped.abort();
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** Kills everything at once; PostgreSQL recovers at its next start. */
  kill(): void {
    for (const [name, supervised] of this.#processes) {
      const pid = supervised.pid();
      if (pid) signal(pid, name === "postgres" ? "SIGQUIT" : "SIGKILL");
    }
  }

  async #stopAll(): Promise<void> {
    // A process that is just being started must be registered so that it can be stopped; start() itself reports its
    // failure.
    await this.#base?.catch(() => undefined);
    const names = [...this.#processes.keys()];
    const gateways = names.filter((name) => name === "gateway" || name.startsWith("gateway-"));
    const isBase = (name: string) => baseNames.some((each) => each === name);
    const services = names.filter((name) => !gateways.includes(name) && !isBase(name));
    const end = (group: string[], ms: number) =>
      Promise.all(group.map((name) => this.#processes.get(name)?.stop(ms) ?? Promise.resolve()));
    await end(gateways, graceMs.gateway);
    await end(services, graceMs.services);
    await end(["nats", "nats-2", "nats-3", "pgbouncer"], graceMs.nats);
    await end(["postgres"], graceMs.postgres);
    if (this.#lock) rmSync(this.#stackFile, { force: true });
    this.#lock?.release();
  }

  readonly #changed = () => {
    if (!this.#stopping) this.#publish();
  };

  get #stackFile(): string {
    return join(this.#config.dataDir, "stack.json");
  }

  #pids(): Record<string, number> {
    const running = [...this.#processes].flatMap(([name, supervised]) => [
      [name, supervised.pid()] as const,
      [`${name}${guardSuffix}`, supervised.guardPid ?? null] as const,
    ]);
    return Object.fromEntries(running.filter((entry): entry is [string, number] => entry[1] !== null));
  }

  #seconds(): number {
    return (performance.now() - this.#began) / 1000;
  }

  #step(name: string, where: string): void {
    if (!this.#stopping) this.#say(stepLine(name, where, this.#seconds()));
  }
}

async function requirePort(port: number, host: string): Promise<void> {
  const state = await portState(port, host);
  if (state === "free") return;
  const why =
    state === "EADDRINUSE"
      ? "is taken by another process"
      : state === "EACCES"
        ? "needs rights that this user lacks"
        : `cannot be listened on (${state})`;
  throw new Problem(
    `Port ${port} of ${host} ${why}.\nChoose another one: PORT=${port >= 1024 && port < 60_000 ? port + 100 : 3100} npm start`,
    { status: 11 },
  );
}

async function lastPorts(dataDir: string, names: string[], reserved: number[]): Promise<Record<string, number>> {
  const file = join(dataDir, "ports.json");
  const ports = await stablePorts(names, readJson(file) ?? {}, reserved);
  writeJson(file, ports);
  return ports;
}

function rotateLogs(folder: string): void {
  for (const name of readdirSync(folder)) if (name.endsWith(".log")) rotateLog(join(folder, name));
}

function stillWaiting(programs: ReadonlyMap<string, Program>, dataDir: string): string {
  const missing = [...programs].filter(([, program]) => !program.isReady()).map(([name]) => name);
  return `  still waiting for ${missing.join(", ")}: see ${join(dataDir, "logs")}`;
}

/** The body at a URL. Node's fetch would load 2 MB into the supervisor for this alone. */
async function textAt(url: string): Promise<string> {
  const request = get(url, { agent: false, timeout: 5_000 }, (response) => request.emit("answer", response));
  request.on("timeout", () => request.destroy(new Error("no answer within 5 s")));
  const [response] = (await once(request, "answer")) as [IncomingMessage];
  return text(response);
}

/** Null once the gateway reaches every service, else its last answer at the deadline. */
async function unhealthy(url: string): Promise<string | null> {
  const deadline = performance.now() + healthyMs;
  let last = "";
  while (performance.now() < deadline) {
    try {
      last = await textAt(url);
      if ((JSON.parse(last) as { status?: string }).status === "ok") return null;
    } catch (error) {
      last = codeOf(error) || String(error);
    }
    await sleep(100);
  }
  return `the gateway's health is not ok yet: ${last}`;
}
