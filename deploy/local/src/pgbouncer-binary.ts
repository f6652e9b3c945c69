import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unpackDebian } from "./debian-package.ts";
import { onPath } from "./path.ts";
import { Problem } from "./problem.ts";

/** A library of the Debian package that systems without PgBouncer lack. */
const libraries = ["libc-ares2"];

/**
 * A PgBouncer that runs here: `explicit` (PGBOUNCER_BIN), else PATH, else one kept in `cacheDir`, else the Debian
 * package's. Throws a `Problem` that says what to do.
 */
export function pgbouncer(explicit: string | undefined, cacheDir: string, say: (line: string) => void): string {
  if (explicit) {
    if (runs(explicit)) return explicit;
    throw new Problem(`PGBOUNCER_BIN=${explicit} is not a PgBouncer that runs here.`);
  }
  const installed = onPath("pgbouncer", `${process.env.PATH ?? ""}:/usr/sbin`).find(runs);
  if (installed) return installed;
  const folder = join(cacheDir, "pgbouncer");
  const cached = join(folder, "pgbouncer");
  if (existsSync(cached) && runs(cached)) return cached;
  say("PgBouncer is not installed: fetching it");
  const work = mkdtempSync(join(tmpdir(), "muster-pgbouncer-"));
  try {
    const unpacked = unpackDebian(work, ["pgbouncer", ...libraries]);
    const partial = `${folder}.${process.pid}`;
    mkdirSync(partial, { recursive: true, mode: 0o755 });
    copyFileSync(join(unpacked, "usr", "sbin", "pgbouncer"), join(partial, "pgbouncer"));
    chmodSync(join(partial, "pgbouncer"), 0o755);
    const libs = readdirSync(join(unpacked, "usr", "lib"), { recursive: true, withFileTypes: true });
    for (const file of libs) {
      if (/\.so\.\d+$/.test(file.name)) copyFileSync(join(file.parentPath, file.name), join(partial, file.name));
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
    if (runs(cached)) return cached;
    throw new Error("the fetched PgBouncer does not run here");
  } catch (cause) {
    throw new Problem(
      `No PgBouncer on this machine, and none could be fetched: ${cause instanceof Error ? cause.message : cause}\n` +
        "Install one (`apt-get install pgbouncer`, `brew install pgbouncer`) or name a binary in PGBOUNCER_BIN.",
      { cause },
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Environment with which the binary finds the libraries that are kept next to it. */
export const libraryPath = (binary: string) => ({ LD_LIBRARY_PATH: join(binary, "..") });

function runs(binary: string): boolean {
  const result = spawnSync(binary, ["--version"], {
    encoding: "utf8",
    timeout: 10_000,
    env: { PATH: process.env.PATH, ...libraryPath(binary) },
  });
  return result.status === 0 && /PgBouncer/i.test(result.stdout + result.stderr);
}
