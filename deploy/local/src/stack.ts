import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rotateLog } from "./child.ts";
import type { LocalConfig } from "./config.ts";
import { openDataFolder, readJson, takeDataFolder, writeJson } from "./data-folder.ts";
import { prepareDatabase, runPostgres } from "./database.ts";
import { firstAdmin } from "./first-admin.ts";
import type { Keeper } from "./keep-running.ts";
import { loadKeys } from "./keys.ts";
import { runNats } from "./nats.ts";
import { natsServer } from "./nats-binary.ts";
import { portState, stablePorts } from "./ports.ts";
import { Problem } from "./problem.ts";
import { instancesOf, type Program, portNames, runProgram } from "./programs.ts";
import { readyScreen, stepLine } from "./screen.ts";
import { describeStack, gatewayUrl } from "./stack-file.ts";

export type Stack = {
  /** Settles when every process serves. */
  ready: Promise<void>;
  /** Stops gateway, services, NATS, PostgreSQL, in this order, within 15 s. */
  stop(): Promise<void>;
};

/** Milliseconds each part may take before it is killed; together the 15 s that a stop may last. */
const grace = { gateway: 3_500, services: 4_000, nats: 2_000, postgres: 4_000 };
const slowStartMs = 60_000;

/** Starts the whole cluster. Throws a `Problem`, with everything stopped again, when its base cannot be had. */
export async function startStack(config: LocalConfig, say: (line: string) => void): Promise<Stack> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  const { dataDir, host, port: firstPort } = config;
  const publicUrl = gatewayUrl(host, firstPort);

  const gatewayPorts = Array.from({ length: config.replicas.gateway }, (_, index) => firstPort + index);
  openDataFolder(dataDir);
  const lock = await takeDataFolder(dataDir, publicUrl);
  const stackFile = join(dataDir, "stack.json");
  const keepers = new Map<string, Keeper>();
  const programs: Program[] = [];
  const stops: (() => Promise<unknown>)[] = [];
  let stopping: Promise<void> | undefined;
  let publish = () => lock.update(pids());
  const pids = () =>
    Object.fromEntries([...keepers].flatMap(([name, keeper]) => (keeper.pid() ? [[name, keeper.pid() as number]] : [])));
  const changed = () => {
    if (!stopping) publish();
  };
  const stop = () => {
    stopping ??= (async () => {
      for (const each of stops.reverse()) await each();
      rmSync(stackFile, { force: true });
      lock.release();
    })();
    return stopping;
  };

  try {
    for (const port of gatewayPorts) await requirePort(port, host);
    rmSync(stackFile, { force: true });
    for (const name of readdirSync(join(dataDir, "logs"))) {
      if (name.endsWith(".log")) rotateLog(join(dataDir, "logs", name));
    }
    const keys = loadKeys(dataDir);
    const admin = firstAdmin(dataDir, config.adminPassword);
    const portsFile = join(dataDir, "ports.json");
    const names = ["postgres", "nats", ...portNames(config.replicas)];
    const ports = await stablePorts(names, readJson<Record<string, number>>(portsFile) ?? {}, gatewayPorts);
    writeJson(portsFile, ports);
    const instances = instancesOf(config.replicas, firstPort, ports);

    const startPostgres = async () => {
      if (config.databaseUrl) return { adminUrl: config.databaseUrl, where: new URL(config.databaseUrl).host };
      const postgres = await runPostgres({
        dataDir,
        port: ports.postgres as number,
        ownBin: config.postgresBin,
        password: keys.superuserPassword,
        changed,
        say,
      });
      keepers.set("postgres", postgres.keeper);
      stops[1] = () => postgres.keeper.stop(grace.postgres);
      for (const note of postgres.notes) say(`  ${note}`);
      return { adminUrl: postgres.adminUrl, where: `${postgres.version} on port ${ports.postgres}` };
    };
    const startNats = async () => {
      if (config.natsUrl) return { natsUrl: config.natsUrl, where: config.natsUrl };
      const binary = await natsServer(config.natsBin, join(dataDir, "bin"), (line) => say(`  ${line}`));
      const publicNkeys = Object.fromEntries(Object.entries(keys.nkeys).map(([name, key]) => [name, key.publicKey]));
      const keeper = await runNats({ binary, dataDir, port: ports.nats as number, publicNkeys, changed, say });
      keepers.set("nats", keeper);
      return { natsUrl: `nats://127.0.0.1:${ports.nats}`, where: `port ${ports.nats}` };
    };
    // NATS first among the two stopped last: its clients are gone then, and it must write before the machine rests.
    const [database, nats] = await bothOrNeither(startPostgres(), startNats());
    stops[0] = () => keepers.get("postgres")?.stop(grace.postgres) ?? Promise.resolve();
    stops[1] = () => keepers.get("nats")?.stop(grace.nats) ?? Promise.resolve();
    const urls = await prepareDatabase(database.adminUrl, keys);
    say(stepLine("PostgreSQL", database.where, seconds()));
    say(stepLine("NATS", nats.where, seconds()));

    publish = () => {
      lock.update(pids());
      writeJson(
        stackFile,
        describeStack({
          host,
          instances,
          pidOf: (name) => keepers.get(name)?.pid() ?? null,
          databaseUrl: urls.umbrella,
          natsUrl: nats.natsUrl,
          ownPostgres: !config.databaseUrl,
          ownNats: !config.natsUrl,
          dataDir,
        }),
      );
    };
    const around = {
      host,
      publicUrl,
      natsUrl: nats.natsUrl,
      database: urls,
      keys,
      instances,
      admin: { email: config.adminEmail, password: () => (programs.length === 0 ? admin.password : undefined) },
    };
    return { ready: Promise.resolve(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
