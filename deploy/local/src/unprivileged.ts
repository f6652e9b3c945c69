import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";

/** The system user that PostgreSQL runs as; null means the user of this process. */
export type RunAs = { name: string; uid: number; gid: number } | null;

export type PasswdEntry = { name: string; uid: number; gid: number };

export function parsePasswd(text: string): PasswdEntry[] {
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid] = line.split(":");
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/** Unprivileged users in order of preference: `postgres`, `nobody`, then all others as the file lists them. */
export function candidates(passwd: PasswdEntry[]): PasswdEntry[] {
  const rank = (entry: PasswdEntry) => (entry.name === "postgres" ? 0 : entry.name === "nobody" ? 1 : 2);
  return passwd.filter((entry) => entry.uid > 0).sort((a, b) => rank(a) - rank(b));
}

/**
 * Who PostgreSQL runs as. It refuses root, so root picks the owner of an existing cluster, else the first candidate
 * that this machine lets it become (a container may map only some). Undefined when root finds none.
 */
export function chooseRunAs(input: {
  uid: number;
  clusterOwner: number | null;
  passwd: PasswdEntry[];
  canBecome: (user: PasswdEntry) => boolean;
}): RunAs | undefined {
  if (input.uid !== 0) return null;
  const all = candidates(input.passwd);
  const owner = input.clusterOwner === null ? undefined : all.find((user) => user.uid === input.clusterOwner);
  return owner ?? all.find(input.canBecome);
}

/** The first place that the user can enter; undefined when none will do. */
export function chooseFolder(folders: readonly string[], canEnter: (path: string) => boolean): string | undefined {
  return folders.find(canEnter);
}

/** `chooseRunAs` on this machine. */
export function findRunAs(clusterDir: string): RunAs | undefined {
  return chooseRunAs({
    uid: process.getuid?.() ?? 1,
    clusterOwner: ownerOf(clusterDir),
    passwd: process.getuid?.() === 0 ? parsePasswd(readFileSync("/etc/passwd", "utf8")) : [],
    canBecome: (user) => shellTest(user, "/", "-d"),
  });
}

/**
 * Whether the user, in fact, can pass through all folders above the path and enter it (mode bits, ACLs and mounts
 * decide).
 */
export function canEnter(user: RunAs, path: string): boolean {
  return user === null || shellTest(user, path, "-x");
}

export function ownerOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.uid ?? null;
}

function shellTest(user: { uid: number; gid: number }, path: string, operator: "-x" | "-d"): boolean {
  const { uid, gid } = user;
  return spawnSync("/bin/sh", ["-c", `test ${operator} "$1"`, "sh", path], { uid, gid, cwd: "/" }).status === 0;
}
