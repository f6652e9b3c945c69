import { copyFileSync, existsSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { pathsIn, sha256Of } from "../archive.mjs";
import { unpack } from "./secrets.mjs";
import { emptyFolder } from "./tools.mjs";

/** How many members of an archive are named. */
const namedMax = 20;

/** Paths of what two lists of checksums have differently, or only one of them. */
export function differing(one, other) {
  const [lines, others] = [one, other].map((text) => new Set(text.split("\n").filter(Boolean)));
  const found = [...lines].filter((line) => !others.has(line)).concat([...others].filter((line) => !lines.has(line)));
  return [...new Set(found.map((line) => line.slice(line.indexOf("  ") + 2)))].sort();
}

/**
 * What is different in a file that two folders have with other bytes, as lines: members of the archive and of the
 * archives in it, or, where all are the same, what else an archive has.
 *
 * @param {string} path of the file in both folders
 * @param {string} work a folder to unpack in, which is removed
 */
export async function differencesIn(path, [one, other], work) {
  const files = [one, other].map((folder) => join(folder, path));
  if (!files.every((file) => existsSync(file))) return ["only one release has it"];
  const [first, second] = [await membersOf(files[0], work), await membersOf(files[1], work)];
  const members = differing(first, second);
  if (members.length === 0) return ["its members are the same: their order, modes, times or compression differ"];
  const more = members.length - namedMax;
  return [...members.slice(0, namedMax), ...(more > 0 ? [`and ${more} more`] : [])];
}

/** Checksums of what is in a file; layers of images are named by what they are of, not by their digest. */
async function membersOf(file, work) {
  rmSync(work, { recursive: true, force: true });
  const [packed, opened] = ["packed", "opened"].map((name) => emptyFolder(join(work, name)));
  copyFileSync(file, join(packed, basename(file)));
  unpack(packed, opened);
  const lines = [];
  for (const path of pathsIn(opened)) {
    lines.push(`${await sha256Of(join(opened, path))}  ${path.replace(/blobs\/sha256\/[\da-f]{64}/, "blobs")}`);
  }
  rmSync(work, { recursive: true });
  return lines.join("\n");
}
