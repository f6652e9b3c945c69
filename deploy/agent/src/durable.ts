import fs from "node:fs";
import { basename, dirname, join } from "node:path";

// Through the object, so that each call can be recorded and cut off in tests.

/** Replaces a file as a whole: after a crash it has its old text or the new one. No link is followed. */
export function writeDurably(path: string, text: string, mode = 0o600): void {
  const partial = `${path}.new`;
  fs.rmSync(partial, { force: true });
  const file = fs.openSync(partial, "wx", mode);
  try {
    writeAll(file, Buffer.from(text));
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
  fs.renameSync(partial, path);
  syncFolder(dirname(path));
}

/** Near the end of a disk a call writes less than it was given, and the next one fails. */
function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at);
}

/** Stores that a name is there, or no longer is. */
export function syncFolder(folder: string): void {
  // Windows opens no folder; NTFS journals names itself.
  if (process.platform === "win32") return;
  const own = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(own);
  } finally {
    fs.closeSync(own);
  }
}

export function syncFile(path: string): void {
  const file = fs.openSync(path, "r+");
  try {
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
}

/** Lets a link lead to `target` (relative to its folder) from one moment to the next. */
export function swapLink(link: string, target: string): void {
  const partial = join(dirname(link), `.${basename(link)}.new`);
  fs.rmSync(partial, { force: true });
  fs.symlinkSync(target, partial, process.platform === "win32" ? "junction" : "dir");
  fs.renameSync(partial, link);
  syncFolder(dirname(link));
}

/** Target of a link; null when there is none. */
export function linkTarget(link: string): string | null {
  try {
    return fs.readlinkSync(link);
  } catch {
    return null;
  }
}

/** The text of a file; empty when there is none, or it cannot be read. */
export function textIn(path: string): string {
  try {
    return fs.readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** A stored JSON object; null when there is none, or only a damaged one. */
export function readStored<T>(path: string): T | null {
  try {
    const value: unknown = JSON.parse(fs.readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? (value as T) : null;
  } catch {
    return null;
  }
}
