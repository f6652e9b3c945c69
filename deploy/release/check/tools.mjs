import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cache } from "../cache.mjs";

/** What a machine of a user has: Node and npm, and no program of this checkout. */
export const bareEnv = (home, more = {}) => ({
  PATH: [dirname(process.execPath), "/usr/bin", "/bin"].join(":"),
  HOME: home,
  ...(process.env.NODE_EXTRA_CA_CERTS ? { NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS } : {}),
  ...more,
});

/** Runs a program to its end; returns its standard output. Throws with all of its output. */
export function run(program, args, options = {}) {
  try {
    return execFileSync(program, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 64 << 20,
      ...options,
    });
  } catch (error) {
    throw new Error(`${program} ${args.join(" ")}: ${error.stdout ?? ""}${error.stderr ?? error.message}`);
  }
}

/** An empty folder. */
export function emptyFolder(path) {
  mkdirSync(path, { recursive: true });
  return path;
}

const versions = {
  publint: "0.3.25",
  "@arethetypeswrong/cli": "0.18.5",
  typescript: "5.9.3",
  "@types/node": "20.19.0",
};

/** Programs of npm that check packages, by exact version, installed once per machine. */
export function npmTools() {
  const folder = join(cache, `tools-${Object.values(versions).join("-")}`);
  if (existsSync(join(folder, "node_modules"))) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: versions }));
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
  return folder;
}

/** Fails with what was expected. */
export function must(condition, what) {
  if (!condition) throw new Error(what);
}

/** A code of RFC 6238, of a secret in base32. */
export function totp(secret) {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac("sha1", key).update(counter).digest();
  return String((mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}
