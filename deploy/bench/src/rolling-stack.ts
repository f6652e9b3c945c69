import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  basePorts,
  freePort,
  type Instance,
  isWorker,
  loadKeys,
  mergeEnvironment,
  openDataFolder,
  type ProgramName,
  programNames,
  readConfig,
  runProgram,
  type SupervisedProcess,
  serviceNames,
  startBase,
} from "@muster/local";
import { type MovingAddress, movingAddress } from "@muster/testing";

const graceMs = 20_000;
const readyMs = 60_000;

/** A build of Muster: the folder of its checkout. */
export type Version = { name: string; checkout: string };

export type RollingStack = {
  /** Of all gateways that are ready. */
  url: string;
  databaseUrl: string;
  /** Applies a version's migrations, as its pods do before they start. */
  migrate(version: Version): Promise<void>;
  /** One more of each program, one after the other; each gets connections once it is ready. */
  add(version: Version): Promise<void>;
  /** Ends those of a version, one after the other, in order; new connections go elsewhere first. */
  remove(version: Version): Promise<void>;
  /** What the programs wrote about a request, each line with the program and its version in front. */
  logged(requestId: string): string[];
  stop(): Promise<void>;
};

type Running = { version: Version; instance: Instance; supervised: SupervisedProcess };

/**
 * PostgreSQL, NATS and an address per program that hands each new connection to one that is ready, in turn: what a
 * Deployment and its Service do. Programs are added and removed by version.
 */
export async function startRollingStack(env: Record<string, string>, adminPassword: string): Promise<RollingStack> {
  // The programs get what this process has.
  Object.assign(process.env, env);
  const dataDir = mkdtempSync("/tmp/muster-rolling-");
  const config = readConfig({ ...process.env, MUSTER_DATA_DIR: dataDir });
  openDataFolder(dataDir);
  const keys = loadKeys(dataDir);
  const bases: SupervisedProcess[] = [];
  const say = (line: string) => console.log(line);
  const running: Running[] = [];
  const addresses = new Map<ProgramName, MovingAddress>();
  const stop = async () => {
    const end = (some: Running[]) => Promise.all(some.map(({ supervised }) => supervised.stop(graceMs)));
    await end(running.filter(({ instance }) => instance.program === "gateway"));
    await end(running.filter(({ instance }) => instance.program !== "gateway"));
    for (const supervised of bases.toReversed()) await supervised.stop(graceMs);
    for (const address of addresses.values()) await address.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const ports: Record<string, number> = {};
    for (const name of basePorts(config)) ports[name] = await freePort();
    const adopt = (_name: string, supervised: SupervisedProcess) => void bases.push(supervised);
    const base = await startBase({ config, keys, ports, adopt, changed: () => undefined, say });

    for (const program of [...serviceNames, "gateway"] as const) {
      let turn = 0;
      const next = () => {
        const ready = running.filter(({ instance }) => instance.program === program);
        return ready[turn++ % ready.length]?.instance.port ?? 1;
      };
      addresses.set(program, await movingAddress(next));
    }
    const portOf = (program: ProgramName) => addresses.get(program)?.port ?? 0;
    const url = `http://127.0.0.1:${portOf("gateway")}`;
    const around = {
      host: "127.0.0.1",
      publicUrl: url,
      mailDir: join(dataDir, "mail"),
      natsUrl: base.natsUrl,
      natsReplicas: base.natsReplicas,
      certificates: null,
      database: base.database,
      keys,
      // As the programs are found by one another.
      instances: serviceNames.map((name) => ({ name, program: name, port: portOf(name), opsPort: 0 })),
      archiveDir: join(dataDir, "archive"),
      releaseDir: join(dataDir, "releases"),
      admin: { email: config.adminEmail, password: adminPassword },
    };

    const start = async (version: Version, program: ProgramName) => {
      const port = isWorker(program) ? 0 : await freePort();
      const instance = { name: `${program}-${version.name}`, program, port, opsPort: await freePort() };
      const { supervised, ready } = runProgram({
        ...{ instance, around, dataDir, checkout: version.checkout, say },
        changed: () => undefined,
        longestWaitMs: config.restartWaitMaxMs,
      });
      const late = AbortSignal.timeout(readyMs);
      const gaveUp = new Promise<never>((_, reject) => {
        late.onabort = () => reject(new Error(`${instance.name} is not ready: see ${join(dataDir, "logs")}`));
      });
      try {
        await Promise.race([ready, gaveUp]);
      } catch (error) {
        await supervised.stop(0);
        throw error;
      }
      running.push({ version, instance, supervised });
    };
    return {
      url,
      databaseUrl: base.database.umbrella,
      async migrate({ checkout }) {
        for (const name of serviceNames) {
          const folder = join(checkout, "services", name);
          await program(folder, mergeEnvironment(process.env, { DATABASE_URL: base.database.owner[name] }));
        }
      },
      async add(version) {
        for (const program of programNames) await start(version, program);
      },
      async remove(version) {
        for (const each of running.filter((some) => some.version === version)) {
          running.splice(running.indexOf(each), 1);
          await each.supervised.stop(graceMs);
        }
      },
      logged(requestId) {
        const folder = join(dataDir, "logs");
        return readdirSync(folder).flatMap((name) =>
          readFileSync(join(folder, name), "utf8")
            .split("\n")
            .filter((line) => line.includes(requestId))
            .map((line) => `${name}: ${line}`),
        );
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** `main.js migrate` of a service. */
async function program(cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, ["dist/main.js", "migrate"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const status = await new Promise((resolve) => child.once("close", resolve));
  if (status !== 0) throw new Error(`the migrations of ${cwd} failed (${status}): ${said}`);
}
