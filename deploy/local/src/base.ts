import { join } from "node:path";
import type { LocalConfig } from "./config.ts";
import { type DatabaseUrls, prepareDatabase, runPostgres } from "./database.ts";
import type { Keeper } from "./keep-running.ts";
import type { Keys } from "./keys.ts";
import { runNats } from "./nats.ts";
import { natsServer } from "./nats-binary.ts";

export type Base = { database: DatabaseUrls; natsUrl: string; postgresAt: string; natsAt: string };

type Options = {
  config: LocalConfig;
  keys: Keys;
  ports: Record<string, number>;
  /** Takes over what was started, as soon as it runs: it must be stopped also when the other part fails. */
  adopt: (name: "postgres" | "nats", keeper: Keeper) => void;
  changed: () => void;
  say: (line: string) => void;
};

/** PostgreSQL with database and roles, and NATS: own ones, or those that the settings name. */
export async function startBase(options: Options): Promise<Base> {
  const parts = [startDatabase(options), startBus(options)] as const;
  // Both have ended, one way or the other, before a failure is told: nothing may start after the stop.
  await Promise.allSettled(parts);
  const [database, bus] = await Promise.all(parts);
  return { ...database, ...bus };
}

async function startDatabase({ config, keys, ports, adopt, changed, say }: Options) {
  if (config.databaseUrl) {
    return {
      database: await prepareDatabase(config.databaseUrl, keys),
      postgresAt: new URL(config.databaseUrl).host,
    };
  }
  const port = ports.postgres as number;
  const { dataDir, postgresBin, restartWaitMaxMs: longestWaitMs } = config;
  const password = keys.superuserPassword;
  const postgres = await runPostgres({ dataDir, port, ownBin: postgresBin, password, changed, say, longestWaitMs });
  adopt("postgres", postgres.keeper);
  changed();
  for (const note of postgres.notes) say(`  ${note}`);
  return {
    database: await prepareDatabase(postgres.adminUrl, keys),
    postgresAt: `${postgres.version}, port ${port}`,
  };
}

async function startBus({ config, keys, ports, adopt, changed, say }: Options) {
  if (config.natsUrl) return { natsUrl: config.natsUrl, natsAt: config.natsUrl };
  const binary = await natsServer(config.natsBin, join(config.dataDir, "bin"), (line) => say(`  ${line}`));
  const publicNkeys = Object.fromEntries(Object.entries(keys.nkeys).map(([name, key]) => [name, key.publicKey]));
  const port = ports.nats as number;
  const { dataDir, restartWaitMaxMs: longestWaitMs } = config;
  const keeper = await runNats({ binary, dataDir, port, publicNkeys, changed, say, longestWaitMs });
  adopt("nats", keeper);
  changed();
  return { natsUrl: `nats://127.0.0.1:${port}`, natsAt: `port ${port}` };
}
