import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checksumFile, signatureFile } from "./checksums.mjs";
import { Refusal } from "./refusal.mjs";

function minisign(...args) {
  const { error, status, stderr } = spawnSync("minisign", args, { encoding: "utf8", input: "" });
  if (error?.code === "ENOENT")
    throw new Refusal("tool", "minisign is not on this machine (Debian's package minisign).");
  return status === 0 ? null : stderr.trim();
}

/**
 * Signs the checksums, and by them every file, with the secret key in the file RELEASE_MINISIGN_KEY (`minisign -G -W`:
 * without a password, on a machine of its own). Without that setting release.json says that the signature is missing.
 */
export function sign({ out, version, env = process.env }) {
  const key = env.RELEASE_MINISIGN_KEY;
  if (!key) return;
  if (!existsSync(key)) throw new Refusal("tool", `RELEASE_MINISIGN_KEY names ${key}, which is not there.`);
  const file = join(out, checksumFile);
  const comment = `Muster ${version}`;
  const problem = minisign("-S", "-s", key, "-m", file, "-x", join(out, signatureFile), "-t", comment, "-c", comment);
  if (problem !== null) throw new Refusal("tool", `minisign does not sign: ${problem}`);
}

/** Verifies the signature of a release with a public key. Throws a refusal when it is not that key's. */
export function verifySignature(folder, keyFile) {
  const signature = join(folder, signatureFile);
  if (!existsSync(signature)) throw new Refusal("changed", `${folder} is not signed.`);
  const [, key = ""] = readFileSync(keyFile, "utf8").trim().split("\n").slice(-2);
  const problem = minisign("-V", "-q", "-P", key, "-m", join(folder, checksumFile), "-x", signature);
  if (problem !== null) throw new Refusal("changed", `${signatureFile} is not of this key: ${problem}`);
}
