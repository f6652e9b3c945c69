import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type ClusterKeys, manifests } from "./cluster-keys.ts";
import { root } from "./config.ts";
import { readJson, writeJson } from "./data-folder.ts";
import { databaseUrls } from "./database.ts";
import { readablePassword } from "./first-admin.ts";
import { completeKeys } from "./keys.ts";
import { migrateServices } from "./migrate-services.ts";
import { prepareDatabase } from "./prepare-database.ts";
import { Problem } from "./problem.ts";
import { isWorker, speakerNames, workerNames } from "./replicas.ts";

const usage = "usage: compose-setup.js <keys|database|password> [--keys DIR] [--made DIR] [--data DIR]\n";
const databaseUrl = "postgres://postgres@postgres:5432/muster";

/** Where deploy/compose/compose.yaml mounts what the processes read, and what they write. */
const { values: mounted, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    keys: { type: "string", default: "/keys" },
    made: { type: "string", default: "/made" },
    data: { type: "string", default: "/data" },
  },
});
const { made, data } = mounted;
const keyFile = join(mounted.keys, "keys.json");

function keptKeys(): ClusterKeys {
  const keys = readJson<ClusterKeys>(keyFile);
  if (keys === null) throw new Problem(`${keyFile} is missing or not JSON: it holds the cluster's keys.`);
  return keys;
}

/** Makes the keys that are missing, and in the volume of each process the files that its settings `NAME_FILE` name. */
function makeKeys(): void {
  const kept = existsSync(keyFile) ? keptKeys() : null;
  const keys = { ...completeKeys(kept ?? {}), adminPassword: kept?.adminPassword ?? readablePassword() };
  mkdirSync(mounted.keys, { recursive: true, mode: 0o700 });
  writeJson(keyFile, keys);
  const items = new Map(manifests(keys, "x").map(({ metadata, ...rest }) => [metadata.name, rest]));
  const callers = Object.entries(items.get("x-callers")?.data ?? {});
  const urls = databaseUrls(new URL(databaseUrl), keys);
  for (const name of [...speakerNames, ...workerNames]) {
    const { DATABASE_PASSWORD, ...settings } = items.get(`x-${name}`)?.stringData ?? {};
    if (isWorker(name)) settings.DATABASE_URL_PRUNER = urls.worker[name];
    else if (name !== "gateway") settings.DATABASE_URL_APP = urls.app[name];
    for (const [setting, value] of Object.entries(settings)) put(join(made, name), setting, value);
    for (const [file, pem] of callers) put(join(made, name, "callers"), file, pem);
  }
  put(join(made, "postgres"), "POSTGRES_PASSWORD", keys.superuserPassword);
  makeNatsConfiguration(Object.fromEntries(speakerNames.map((name) => [name, keys.nkeys[name].publicKey])));
  // Processes write as a user of their own; each folder is in the volume of one service.
  for (const name of ["streams", "releases", "archive"]) {
    mkdirSync(join(data, name), { recursive: true });
    chmodSync(join(data, name), 0o777);
  }
}

/** Readable to the user of the process: only its own service mounts the volume. */
function put(folder: string, name: string, text: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const file = join(folder, name);
  writeFileSync(`${file}.new`, text, { mode: 0o444 });
  renameSync(`${file}.new`, file);
}

/** The configuration of production with its variables filled in: an include has none of those of the file around it. */
function makeNatsConfiguration(publicNkeys: Record<string, string>): void {
  const variables: Record<string, string> = {
    NATS_SERVER_NAME: "muster",
    NATS_LISTEN_HOST: "0.0.0.0",
    NATS_LISTEN_PORT: "4222",
    NATS_STORE_DIR: '"/data"',
    ...Object.fromEntries(
      Object.entries(publicNkeys).map(([name, key]) => [`NKEY_${name.toUpperCase().replaceAll("-", "_")}`, key]),
    ),
  };
  for (const file of ["nats-server.conf", "permissions.conf"]) {
    const text = readFileSync(join(root, "deploy", "nats", file), "utf8");
    put(
      join(made, "nats"),
      file,
      text.replace(/\$((?:NATS|NKEY)_[A-Z_]+)/g, (all, name) => variables[name] ?? all),
    );
  }
}

/** Roles with their passwords, and every service's migrations; changes nothing where both are done. */
async function prepare(): Promise<void> {
  const keys = keptKeys();
  const admin = new URL(databaseUrl);
  admin.password = encodeURIComponent(keys.superuserPassword);
  await migrateServices(await prepareDatabase(admin.href, keys));
}

const commands: Record<string, () => void | Promise<void>> = {
  keys: makeKeys,
  database: prepare,
  password: () => void process.stdout.write(`${keptKeys().adminPassword}\n`),
};

const [name = "", ...more] = positionals;
const command = more.length === 0 && Object.hasOwn(commands, name) ? commands[name] : undefined;
if (command === undefined) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  try {
    await command();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
