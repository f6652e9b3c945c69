import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathsIn, sha256Of } from "./archive.mjs";
import { Refusal } from "./refusal.mjs";

export const checksumFile = "SHA256SUMS";
export const signatureFile = `${checksumFile}.minisig`;
const isOwn = (path) => path === checksumFile || path === signatureFile;

/** Writes the checksums of all files of a release, as `sha256sum --check` reads them. */
export async function writeChecksums(folder) {
  const lines = [];
  for (const path of pathsIn(folder)) if (!isOwn(path)) lines.push(`${await sha256Of(join(folder, path))}  ${path}\n`);
  writeFileSync(join(folder, checksumFile), lines.join(""));
}

/** Compares a release with its checksums. Throws a refusal that names a file that is missing, changed or not listed. */
export async function verifyChecksums(folder) {
  const list = join(folder, checksumFile);
  if (!existsSync(list)) throw new Refusal("changed", `${folder} has no ${checksumFile}.`);
  const listed = new Map();
  for (const line of readFileSync(list, "utf8").split("\n").filter(Boolean)) {
    const [, sum, path] = /^([\da-f]{64}) {2}(.+)$/.exec(line) ?? [];
    if (path === undefined) throw new Refusal("changed", `${checksumFile} has a line of another form: ${line}`);
    listed.set(path, sum);
  }
  for (const [path, sum] of listed) {
    if (!existsSync(join(folder, path))) throw new Refusal("changed", `${path} is missing.`);
    if ((await sha256Of(join(folder, path))) !== sum)
      throw new Refusal("changed", `${path} is not what ${checksumFile} lists.`);
  }
  const unlisted = pathsIn(folder).find((path) => !listed.has(path) && !isOwn(path));
  if (unlisted !== undefined) throw new Refusal("changed", `${unlisted} is not in ${checksumFile}.`);
}
