import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateNkey } from "@muster/bus/nkey";
import { dutyRoles, roleNames } from "@muster/db/role-names";
import { generateCallerKey } from "@muster/rpc/caller-keys";
import { readJson, writeJson } from "./data-folder.ts";
import { Problem } from "./problem.ts";
import { type SpeakerName, serviceNames, speakerNames, type WorkerName, workerNames, workers } from "./replicas.ts";

type CallerKey = ReturnType<typeof generateCallerKey>;
type Nkey = ReturnType<typeof generateNkey>;

/** Everything secret that a cluster needs, made once and kept in `<data>/keys/secrets.json` (0600). */
export type Keys = {
  superuserPassword: string;
  /** Passwords of the database roles that log in, by role. */
  rolePasswords: Record<string, string>;
  callers: Record<SpeakerName, CallerKey>;
  nkeys: Record<SpeakerName, Nkey>;
  /** EC P-256, "kid:base64 PKCS#8". */
  jwtPrivateKeys: string;
  /** "id:base64[,…]", 32 bytes each: one key for each service that seals secrets. */
  secretEncryptionKeys: Record<SealerName, string>;
  enrollmentKeyPepper: string;
  /** "name:base64 PKCS#8", Ed25519: signs audit's checkpoints. */
  checkpointPrivateKey: string;
};

export const umbrellaRole = "muster_owner";

/** Services that seal secrets at rest. */
export const sealerNames = ["identity", "audit", "webhook-dispatcher"] as const;
export type SealerName = (typeof sealerNames)[number];

/** Folders of before had one key for all: it opens what it sealed. */
type Kept = Partial<Keys> & { secretEncryptionKey?: string };

/** The kept keys; makes those that are missing (at the first start all, after an upgrade a new service's). */
export function loadKeys(dataDir: string): Keys & { callerPublicDir: string } {
  const file = join(dataDir, "keys", "secrets.json");
  const read = readJson<Kept>(file);
  // New ones would make everything that the old ones protect inaccessible.
  if (read === null && existsSync(file))
    throw new Problem(`${file} is not JSON: repair it, it holds the cluster's keys.`);
  const kept = read ?? {};
  const keys = completeKeys(kept);
  if (JSON.stringify(kept) !== JSON.stringify(keys)) writeJson(file, keys);
  const callerPublicDir = join(dataDir, "keys", "caller");
  for (const [issuer, { kid, publicPem }] of Object.entries(keys.callers)) {
    mkdirSync(join(callerPublicDir, issuer), { recursive: true });
    writeFileSync(join(callerPublicDir, issuer, `${kid}.pem`), publicPem);
  }
  return { ...keys, callerPublicDir };
}

/** The given keys and, where one is missing, a new one. */
export function completeKeys(kept: Kept): Keys {
  return {
    superuserPassword: kept.superuserPassword ?? password(),
    rolePasswords: complete(loginRoles(), kept.rolePasswords, password),
    callers: complete(speakerNames, kept.callers, generateCallerKey),
    nkeys: complete(speakerNames, kept.nkeys, generateNkey),
    jwtPrivateKeys: kept.jwtPrivateKeys ?? jwtKey(),
    secretEncryptionKeys: complete(sealerNames, kept.secretEncryptionKeys, () => sealingKey(kept.secretEncryptionKey)),
    enrollmentKeyPepper: kept.enrollmentKeyPepper ?? password(),
    checkpointPrivateKey: kept.checkpointPrivateKey ?? checkpointKey(),
  };
}

/**
 * The database roles that log in: the umbrella, each service's owner and its unprivileged application role, and the
 * workers'.
 */
export function loginRoles(): string[] {
  const ofServices = serviceNames.flatMap((name) => [roleNames(name).owner, roleNames(name).app]);
  return [umbrellaRole, ...ofServices, ...workerNames.map(workerRole)];
}

/** The database role a worker logs in as. */
export function workerRole(name: WorkerName): string {
  const { service, duty } = workers[name];
  const role = dutyRoles(service)[duty];
  if (!role) throw new Error(`${service} has no role for ${duty}`);
  return role;
}

function complete<N extends string, T>(
  names: readonly N[],
  kept: Partial<Record<N, T>> = {},
  make: () => T,
): Record<N, T> {
  return Object.fromEntries(names.map((name) => [name, kept[name] ?? make()])) as Record<N, T>;
}

function sealingKey(older: string | undefined): string {
  const own = `${randomBytes(3).toString("hex")}:${randomBytes(32).toString("base64")}`;
  return older === undefined ? own : `${own},${older}`;
}

function password(): string {
  return randomBytes(24).toString("base64url");
}

function jwtKey(): string {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const kid = createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")
    .slice(0, 16);
  return `${kid}:${privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")}`;
}

function checkpointKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  const der = privateKey.export({ type: "pkcs8", format: "der" });
  return `muster-audit-${randomBytes(3).toString("hex")}:${der.toString("base64")}`;
}
