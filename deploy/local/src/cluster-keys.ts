import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { roleNames } from "@muster/db/role-names";
import { root } from "./config.ts";
import { readJson, writeJson } from "./data-folder.ts";
import { variableOf } from "./database.ts";
import { readablePassword } from "./first-admin.ts";
import { completeKeys, type Keys, loginRoles, type SealerName, umbrellaRole, workerRole } from "./keys.ts";
import { Problem } from "./problem.ts";
import { serviceNames, speakerNames, workerNames } from "./replicas.ts";

/** `secretEncryptionKey` is what 0.1.0 kept: one for all services. */
type Kept = Partial<Keys> & { adminPassword?: string; secretEncryptionKey?: string };
/** Every key of a cluster, and the first administrator's password. */
export type ClusterKeys = Keys & { adminPassword: string };
type Manifest = {
  apiVersion: "v1";
  kind: "Secret" | "ConfigMap";
  metadata: { name: string };
  type?: "Opaque";
  stringData?: Record<string, string>;
  data?: Record<string, string>;
};

const usage = `Usage: keys DIR [--prefix muster]

Makes every key and password of a Kubernetes cluster and keeps them in DIR/keys.json; those that are there stay. Beside it:
  secrets.json   Secrets and a ConfigMap for the namespace of the chart: kubectl apply -f DIR/secrets.json
  roles.sql      roles, schemas and privileges with their passwords: psql -v ON_ERROR_STOP=1 -1 -d muster -f DIR/roles.sql
  demo.json      Secrets of the PostgreSQL and NATS that the chart brings for a first try (values-demo.yaml)
  backup.json    Secret of the chart's backups (backup.enabled)
  nats.env       public keys of the users in permissions.conf, for the environment of nats-server
  nats-server.conf, permissions.conf
                 of this version, for NATS; an upgrade installs them first
`;
const natsFiles = ["nats-server.conf", "permissions.conf"];

/**
 * `muster keys`: what the chart's `existingSecret`s, PostgreSQL and NATS must hold. Running it again adds what is
 * missing.
 */
export function clusterKeys(args: string[]): void {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { prefix: { type: "string", default: "muster" } },
  });
  const [folder] = positionals;
  if (!folder || positionals.length > 1) throw new Problem(usage);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "keys.json");
  const kept = readJson<Kept>(file);
  if (kept === null && existsSync(file))
    throw new Problem(`${file} is not JSON: repair it, it holds the cluster's keys.`);
  const keys = { ...withOlderFirst(kept ?? {}), adminPassword: kept?.adminPassword ?? readablePassword() };
  writeJson(file, keys);
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  const items = manifests(keys, values.prefix);
  write("secrets.json", list(items));
  write("roles.sql", rolesSql(keys.rolePasswords));
  const users = speakerNames.map((name) => [`NKEY_${variableName(name)}`, keys.nkeys[name].publicKey] as const);
  write("nats.env", users.map(([name, key]) => `${name}=${key}\n`).join(""));
  for (const name of natsFiles) copyFileSync(join(root, "deploy", "nats", name), join(folder, name));
  const demo = [
    secret(`${values.prefix}-demo-postgres`, {
      POSTGRES_PASSWORD: keys.superuserPassword,
      "roles.sql": rolesSql(keys.rolePasswords),
    }),
    secret(`${values.prefix}-demo-nats`, Object.fromEntries(users)),
  ];
  write("demo.json", list(demo));
  const backups = { DATABASE_PASSWORD: keys.rolePasswords[umbrellaRole] ?? "" };
  write("backup.json", list([secret(`${values.prefix}-backup`, backups)]));
  process.stdout.write(
    `Made ${items.length} manifests in ${folder}.\nProtect ${file}: its holder can act as every service. Next:\n` +
      `  psql -v ON_ERROR_STOP=1 -1 -d muster -f ${join(folder, "roles.sql")}      (as an administrator of PostgreSQL)\n` +
      `  NATS: ${join(folder, "nats-server.conf")} with the environment of ${join(folder, "nats.env")}\n` +
      `  kubectl -n muster apply -f ${join(folder, "secrets.json")}\n`,
  );
}

/** `keys` as a program of its own, where there is no checkout; returns its exit code. */
export function keysProgram(args: string[]): number {
  try {
    clusterKeys(args);
    return 0;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

/**
 * The keys of a cluster, completed. Where all services had one encryption key, it still encrypts: during an upgrade
 * pods of the version before, which know no other, run together with new ones.
 */
function withOlderFirst(kept: Kept): Keys {
  const keys = completeKeys(kept);
  const { secretEncryptionKey: older, secretEncryptionKeys: before = {} as Partial<Record<SealerName, string>> } = kept;
  if (older === undefined) return keys;
  const lists = Object.entries(keys.secretEncryptionKeys).map(([name, list]) => {
    const own = list.split(",").filter((each) => each !== older);
    return [name, before[name as SealerName] ?? [older, ...own].join(",")];
  });
  return { ...keys, secretEncryptionKeys: Object.fromEntries(lists) };
}

const list = (items: Manifest[]) => `${JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2)}\n`;
const secret = (name: string, stringData: Record<string, string>): Manifest => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  type: "Opaque",
  stringData,
});
const variableName = (service: string) => service.toUpperCase().replaceAll("-", "_");

/** `<prefix>-<service>` for each process, `<prefix>-<service>-owner` for its migrations, `<prefix>-callers` for all. */
export function manifests(keys: ClusterKeys, prefix: string): Manifest[] {
  const password = (role: string) => ({ DATABASE_PASSWORD: keys.rolePasswords[role] ?? "" });
  const sealing = (name: SealerName) => ({ SECRET_ENCRYPTION_KEY: keys.secretEncryptionKeys[name] });
  const signing = { CHECKPOINT_PRIVATE_KEY: keys.checkpointPrivateKey };
  const further: Record<string, Record<string, string>> = {
    identity: {
      ...sealing("identity"),
      JWT_PRIVATE_KEYS: keys.jwtPrivateKeys,
      ENROLLMENT_KEY_PEPPER: keys.enrollmentKeyPepper,
      BOOTSTRAP_ADMIN_PASSWORD: keys.adminPassword,
    },
    audit: { ...sealing("audit"), ...signing },
    "webhook-dispatcher": sealing("webhook-dispatcher"),
  };
  const speakers = speakerNames.map((name) =>
    secret(`${prefix}-${name}`, {
      CALLER_PRIVATE_KEYS: keys.callers[name].privateKey,
      NATS_NKEY_SEED: keys.nkeys[name].seed,
      ...(name === "gateway" ? {} : password(roleNames(name).app)),
      ...further[name],
    }),
  );
  const owners = serviceNames.map((name) => secret(`${prefix}-${name}-owner`, password(roleNames(name).owner)));
  const workers = workerNames.map((name) => secret(`${prefix}-${name}`, { ...password(workerRole(name)), ...signing }));
  const callers: Manifest = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${prefix}-callers` },
    data: Object.fromEntries(
      speakerNames.map((name) => [`${name}.${keys.callers[name].kid}.pem`, keys.callers[name].publicPem]),
    ),
  };
  return [...speakers, ...owners, ...workers, callers];
}

/** deploy/sql/roles.sql with its variables set; passwords are base64url, so that quotes hold them. */
function rolesSql(passwords: Record<string, string>): string {
  const variables = loginRoles().map((role) => `\\set ${variableOf(role)} '${passwords[role]}'\n`);
  return `${variables.join("")}${readFileSync(join(root, "deploy", "sql", "roles.sql"), "utf8")}`;
}
