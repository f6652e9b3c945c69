import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, messageOf } from "@muster/kit";

const namePattern = /^[A-Za-z0-9_-]{1,64}$/;

export type GeneratedCallerKey = {
  kid: string;
  /** "kid:base64 PKCS#8", one item of CALLER_PRIVATE_KEYS. */
  privateKey: string;
  /** Content of <directory>/<issuer>/<kid>.pem. */
  publicPem: string;
};

/** A new Ed25519 key pair; the kid is the start of the public key's SHA-256. */
export function generateCallerKey(): GeneratedCallerKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const kid = createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")
    .slice(0, 16);
  const pkcs8 = privateKey.export({ type: "pkcs8", format: "der" }).toString("base64");
  return {
    kid,
    privateKey: `${kid}:${pkcs8}`,
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

export type SigningKey = { kid: string; key: KeyObject };

const unusable = (problem: string) => new ConfigError([`CALLER_PRIVATE_KEYS: ${problem}`]);

/** Parses "kid:base64pkcs8[,…]"; throws a ConfigError that names the bad item's kid, never its content. */
export function parsePrivateKeys(list: string): SigningKey[] {
  const keys = list
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean)
    .map((item) => {
      const colon = item.indexOf(":");
      const kid = colon > 0 ? item.slice(0, colon) : "";
      if (!namePattern.test(kid)) throw unusable("A caller private key must be written kid:base64");
      let key: KeyObject;
      try {
        key = createPrivateKey({ key: Buffer.from(item.slice(colon + 1), "base64"), format: "der", type: "pkcs8" });
      } catch {
        throw unusable(`Caller private key ${kid} is not base64 PKCS#8`);
      }
      if (key.asymmetricKeyType !== "ed25519") throw unusable(`Caller private key ${kid} is not Ed25519`);
      return { kid, key };
    });
  if (keys.length === 0) throw unusable("No caller private key is given");
  return keys;
}

/** Public keys by "<issuer>/<kid>". */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/**
 * Reads <directory>/<issuer>/<kid>.pem, and <directory>/<issuer>.<kid>.pem as one ConfigMap for all issuers mounts
 * them. Throws a ConfigError that names CALLER_PUBLIC_KEYS_DIR and the file that is no Ed25519 public key, or cannot be
 * read.
 */
export function readPublicKeys(directory: string): PublicKeys {
  try {
    return publicKeysIn(directory);
  } catch (cause) {
    const error = new ConfigError([`CALLER_PUBLIC_KEYS_DIR: ${messageOf(cause)}`]);
    error.cause = cause;
    throw error;
  }
}

function publicKeysIn(directory: string): PublicKeys {
  const keys = new Map<string, KeyObject>();
  for (const entry of readdirSync(directory)) {
    const [, issuer, kid] = /^([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{1,64})\.pem$/.exec(entry) ?? [];
    if (issuer && kid) keys.set(`${issuer}/${kid}`, readPublicKey(join(directory, entry)));
    // Kubernetes mounts keep their versions in entries like "..data".
    if (!namePattern.test(entry) || !statSync(join(directory, entry)).isDirectory()) continue;
    for (const file of readdirSync(join(directory, entry))) {
      const name = file.endsWith(".pem") ? file.slice(0, -4) : "";
      if (namePattern.test(name)) keys.set(`${entry}/${name}`, readPublicKey(join(directory, entry, file)));
    }
  }
  return keys;
}

function readPublicKey(path: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey(readFileSync(path));
  } catch (cause) {
    throw new Error(`${path} is not a public key`, { cause });
  }
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`${path} is not an Ed25519 public key`);
  return key;
}

/** Whether two readings hold the same keys. */
export function sameKeys(a: PublicKeys, b: PublicKeys): boolean {
  return a.size === b.size && [...a].every(([name, key]) => b.get(name)?.equals(key) ?? false);
}
