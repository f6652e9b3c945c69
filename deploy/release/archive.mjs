import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { Refusal } from "./refusal.mjs";

/** Paths below a folder in the order of their bytes, with `/`; folders only where they are asked for. */
export function pathsIn(folder, { folders = false } = {}) {
  const walk = (below) =>
    readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (!entry.isDirectory()) return [path];
      return folders ? [path, ...walk(path)] : walk(path);
    });
  return walk("").sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/**
 * Writes a tar of what is below a folder; the same files and time (seconds) make the same bytes, wherever and whenever.
 * Modes are 755 for programs and folders, 644 for other files, unless they are kept.
 */
export function packTar(file, folder, epoch, { folders = false, keepModes = false } = {}) {
  const list = pathsIn(folder, { folders })
    .map((path) => `${path}\0`)
    .join("");
  const order = ["--null", "--no-recursion", "--verbatim-files-from", "-T", "-"];
  const modes = keepModes ? [] : ["--mode=u=rwX,go=rX"];
  const attributes = ["--format=gnu", `--mtime=@${epoch}`, "--owner=0", "--group=0", "--numeric-owner", ...modes];
  try {
    execFileSync("tar", ["-C", folder, ...attributes, "-cf", file, ...order], { input: list });
  } catch (cause) {
    throw new Refusal("tool", `GNU tar could not write ${file}: ${cause.stderr ?? cause.message}`);
  }
}

/** As `packTar`, with gzip, whose header has no time. */
export async function packTgz(file, folder, epoch, options) {
  const tar = `${file}.tar`;
  try {
    packTar(tar, folder, epoch, options);
    await pipeline(createReadStream(tar), createGzip({ level: 9 }), createWriteStream(file));
  } finally {
    rmSync(tar, { force: true });
  }
}

/** SHA-256 of a file, hexadecimal. */
export async function sha256Of(file) {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest("hex");
}
