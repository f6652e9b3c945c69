import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { codeOf } from "@muster/kit/light";
import { ownFolder } from "./own-folder.ts";
import { runningPostmaster } from "./postgres.ts";
import { Problem } from "./problem.ts";
import { alive, birthOf, endRecorded } from "./process-table.ts";
import { canEnter, chooseFolder, type RunAs } from "./unprivileged.ts";

const neededBytes = 300 * 1024 * 1024;

/** Creates the data folder, or throws a Problem with the reason: no permission, or less than 300 MB free. */
export function openDataFolder(dataDir: string): void {
  try {
    // Others may pass through (PostgreSQL's user does when root starts the cluster), not list; secrets have stricter
    // modes.
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    for (const folder of ["logs", "keys"]) mkdirSync(join(dataDir, folder), { recursive: true, mode: 0o700 });
    const probe = join(dataDir, "keys", ".writable");
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (cause) {
    if (codeOf(cause) === "ENOSPC") throw diskFull(dataDir, 0);
    throw new Problem(
      `The data folder ${dataDir} cannot be written (${codeOf(cause)}).\n` +
        "Give it to your user (chown), or set MUSTER_DATA_DIR to a folder you may write.",
      { cause },
    );
  }
  requireSpace(dataDir);
}

export function requireSpace(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < neededBytes) throw diskFull(folder, bavail * bsize);
}

function diskFull(folder: string, freeBytes: number): Problem {
  const megabytes = Math.floor(freeBytes / 1024 / 1024);
  return new Problem(
    `The disk of ${folder} is full: ${megabytes} MB free, ${neededBytes / 1024 / 1024} MB are needed to start.\n` +
      "Free some space, or set MUSTER_DATA_DIR to a folder on another disk.",
    { status: 10 },
  );
}

/**
 * The folder that holds PostgreSQL's cluster: inside the data folder where the server's user may enter it, else one
 * under /var/lib or /var/tmp whose name the data folder remembers.
 */
export function clusterFolder(dataDir: string, user: RunAs): { folder: string; elsewhere: boolean } {
  const note = join(dataDir, "postgres.place");
  if (existsSync(note)) return { folder: readFileSync(note, "utf8").trim(), elsewhere: true };
  const inside = join(dataDir, "postgres");
  if (existsSync(inside) || canEnter(user, dataDir)) return { folder: inside, elsewhere: false };
  const parent = chooseFolder(["/var/lib/muster", "/var/tmp/muster"], (dir) => ownFolder(dir) && canEnter(user, dir));
  if (!parent) {
    throw new Problem(
      `PostgreSQL does not run as root, and user ${user?.name} may not enter ${dataDir} nor /var/lib/muster.\n` +
        "Start as an ordinary user, or set MUSTER_DATA_DIR to a folder that others may pass through.",
    );
  }
  removeForgotten(parent);
  const folder = join(parent, `data-${randomBytes(6).toString("hex")}`);
  mkdirSync(folder, { mode: 0o711 });
  writeFileSync(join(folder, "data-folder"), dataDir);
  writeFileSync(note, `${folder}\n`);
  return { folder, elsewhere: true };
}

/**
 * Removes clusters of temporary data folders that no longer exist (tests); those of other folders are never touched.
 */
function removeForgotten(parent: string): void {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith("data-"))) {
    const note = join(parent, name, "data-folder");
    const dataDir = existsSync(note) ? readFileSync(note, "utf8") : "";
    const temporary = [tmpdir(), "/tmp", "/var/tmp"].some((folder) => dataDir.startsWith(`${folder}/`));
    if (temporary && !existsSync(dataDir) && !runningPostmaster(join(parent, name, "data"))) {
      rmSync(join(parent, name), { recursive: true, force: true });
    }
  }
}

/** Ends the names of guards, which a start need not mention. */
export const guardSuffix = "-guard";

/** The supervisor that holds the data folder, and the processes that it started. */
export type Holder = { pid: number; birth: string | null; url: string; children: Record<string, number> };

export type Lock = {
  /** What a killed supervisor had left running and is ended now. */
  leftOver: string[];
  update(children: Record<string, number>): void;
  release(): void;
};

/**
 * Takes the data folder for this process. Throws a `Problem` with the pid while another supervisor runs on it. Ends
 * what a killed supervisor left running (known by pid and a command line that names this folder).
 */
export async function takeDataFolder(dataDir: string, url: string): Promise<Lock> {
  const file = join(dataDir, "supervisor.json");
  const earlier = readJson<Holder>(file);
  if (earlier && alive(earlier.pid) && birthOf(earlier.pid) === earlier.birth) {
    throw new Problem(
      `A cluster already runs on ${dataDir}: process ${earlier.pid}, ${earlier.url}.\n` +
        "Stop that one first, or start this one with another PORT and MUSTER_DATA_DIR.",
    );
  }
  // Services whose supervisor has ended end by themselves; this waits for them and kills those that hang. PostgreSQL is
  // stopped otherwise, by its own pid file.
  const recorded = Object.entries(earlier?.children ?? {}).filter(([name]) => name !== "postgres");
  const leftOver: string[] = [];
  await Promise.all(
    recorded.map(async ([name, pid]) => {
      if ((await endRecorded(pid, dataDir, 4_000)) && !name.endsWith(guardSuffix)) leftOver.push(name);
    }),
  );
  const holder: Holder = { pid: process.pid, birth: birthOf(process.pid), url, children: {} };
  writeJson(file, holder);
  return {
    leftOver,
    update: (children) => writeJson(file, { ...holder, children }),
    release: () => rmSync(file, { force: true }),
  };
}

export function readJson<T>(file: string): T | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Readers see the old content or the new one, never half of it; mode 0600. */
export function writeJson(file: string, value: unknown): void {
  const partial = join(dirname(file), `.${process.pid}.${randomBytes(4).toString("hex")}.tmp`);
  writeFileSync(partial, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(partial, file);
}
