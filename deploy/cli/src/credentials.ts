import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RefreshWith, Tokens } from "@muster/client";
import { exits, Failure } from "./failure.ts";

export type StoredSession = Tokens & { email: string };
/** Sessions by address, those of profiles by `name@address`. */
type Stored = {
  current: string | null;
  sessions: Record<string, StoredSession>;
  profiles: Record<string, string>;
  /** The newest release that the user was shown. */
  announcedRelease: string | null;
};

export type Credentials = {
  file: string;
  /** The key of the session that was signed in, or chosen, last. */
  current(): string | null;
  /** Addresses of the profiles, by their names. */
  profiles(): Readonly<Record<string, string>>;
  nameProfile(name: string, url: string): Promise<void>;
  choose(key: string): Promise<void>;
  session(url: string): StoredSession | null;
  /** Notes that the user is shown a release; false when that was noted before. */
  announceOnce(version: string): Promise<boolean>;
  /** Keeps or, with null, forgets the session of an address; `makeCurrent` for a sign-in. */
  keep(url: string, session: StoredSession | null, makeCurrent?: boolean): Promise<void>;
  /** Spends the refresh token of an address once, however many processes find the access token expired together. */
  refreshWith(url: string): RefreshWith;
};

/** A lock that is older than this is of a process that died. */
const staleMs = 30_000;

/** Where sessions are kept: `MUSTER_CONFIG_DIR`, else `$XDG_CONFIG_HOME/muster`, else `~/.config/muster`. */
export function credentialsOf(env: Readonly<Record<string, string | undefined>>): Credentials {
  const folder = env.MUSTER_CONFIG_DIR || join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "muster");
  const file = join(folder, "credentials.json");
  const sessionOf = (url: string) => {
    const { sessions } = read(file);
    return (Object.hasOwn(sessions, url) ? sessions[url] : null) ?? null;
  };
  const change = (alter: (stored: Stored) => void) => {
    const stored = read(file);
    alter(stored);
    write(file, stored);
  };
  const put = (url: string, session: StoredSession | null, makeCurrent: boolean) =>
    change((stored) => {
      if (session) stored.sessions[url] = session;
      else delete stored.sessions[url];
      if (makeCurrent) stored.current = url;
    });
  return {
    file,
    current: () => read(file).current,
    profiles: () => read(file).profiles,
    nameProfile: (name, url) =>
      locked(file, async () =>
        change((stored) => {
          stored.profiles[name] = url;
        }),
      ),
    choose: (key) =>
      locked(file, async () =>
        change((stored) => {
          stored.current = key;
        }),
      ),
    announceOnce: (version) =>
      locked(file, async () => {
        if (read(file).announcedRelease === version) return false;
        change((stored) => {
          stored.announcedRelease = version;
        });
        return true;
      }),
    session: sessionOf,
    keep: (url, session, makeCurrent = false) => locked(file, async () => put(url, session, makeCurrent)),
    refreshWith: (url) => (current, exchange) =>
      locked(file, async () => {
        const stored = sessionOf(url);
        // Another process was first, or the user has signed out meanwhile.
        if (!stored) return "ended";
        if (stored.refreshToken !== current.refreshToken) return stored;
        const next = await exchange(current);
        if (next === "ended") put(url, null, false);
        else if (next !== "later") put(url, { ...next, email: stored.email }, false);
        return next;
      }),
  };
}

function read(file: string): Stored {
  let text: string;
  try {
    const { mode } = statSync(file);
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      throw new Failure(
        exits.failed,
        `${file} can be read by others: run chmod 600 on it, and sign in again if it was read`,
      );
    }
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { current: null, sessions: {}, profiles: {}, announcedRelease: null };
    throw error;
  }
  try {
    const { current = null, sessions = {}, profiles = {}, announcedRelease = null }: Partial<Stored> = JSON.parse(text);
    return { current, sessions, profiles, announcedRelease };
  } catch {
    throw new Failure(exits.failed, `${file} is not JSON: remove it, then sign in again`);
  }
}

/** In one step: a reader finds the old file or the new one, whole. */
function write(file: string, stored: Stored): void {
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, file);
}

/** Runs alone among all processes that use the same file. */
async function locked<T>(file: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lock = `${file}.lock`;
  while (!taken(lock)) {
    if (isStale(lock)) rmSync(lock, { force: true });
    else await sleep(20 + Math.random() * 30);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function taken(lock: string): boolean {
  try {
    const descriptor = openSync(lock, "wx", 0o600);
    writeSync(descriptor, String(process.pid));
    closeSync(descriptor);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

// Two that remove a dead process's lock together may both go on: the API takes the same refresh token twice within 20
// s.
function isStale(lock: string): boolean {
  const seen = statSync(lock, { throwIfNoEntry: false });
  return seen !== undefined && Date.now() - seen.mtimeMs > staleMs;
}

/** The code of an error of the file system. */
/** By its shape: an error of another realm is no instance of this one's Error. */
const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : null;
