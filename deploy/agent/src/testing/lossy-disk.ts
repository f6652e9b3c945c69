import fs from "node:fs";
import { dirname, join, relative } from "node:path";

type Entry = { ino: number; kind: "file" | "folder" | "link"; target: string };
type Names = Map<number, Map<string, Entry>>;
/** Names of one operation that are on the disk together or not at all. */
type Change = { folder: number; name: string; to: Entry | null }[];

/** The disk after one operation: what is safe, and which names may be there or not. */
type Moment = { root: number; names: Names; contents: Map<number, Buffer>; pending: Change[] };

/** What a power cut leaves of a folder, at each moment of what was recorded. */
export type LossyDisk = {
  stop(): void;
  /** Number of recorded moments. */
  readonly moments: number;
  /** Builds each state that a power cut can leave at this moment in a folder. Returns how many there are. */
  states(moment: number): ((folder: string) => void)[];
};

const changing = [
  "openSync",
  "writeSync",
  "renameSync",
  "symlinkSync",
  "rmSync",
  "mkdirSync",
  "chmodSync",
  "linkSync",
] as const;

/**
 * Records what this process does to a folder: a file's bytes are safe once it was synced, a name once its folder was.
 * Everything before is safe.
 */
export function recordDisk(folder: string): LossyDisk {
  const moments: Moment[] = [];
  const originals = new Map<string, unknown>();
  const contents = new Map<number, Buffer>();
  let live = namesOf(folder);
  const safe: Names = copied(live);
  let pending: Change[] = [];
  for (const entries of live.values()) {
    for (const { ino, kind } of entries.values()) if (kind === "file") contents.set(ino, Buffer.alloc(0));
  }
  for (const [path, { ino, kind }] of pathsOf(folder)) if (kind === "file") contents.set(ino, fs.readFileSync(path));

  const note = () => {
    const now = namesOf(folder);
    const change = changesBetween(live, now);
    if (change.length > 0) pending.push(change);
    live = now;
    moments.push({
      root: fs.statSync(folder).ino,
      names: copied(safe),
      contents: new Map(contents),
      pending: [...pending],
    });
  };

  const sync = (fd: number) => {
    const { ino } = fs.fstatSync(fd);
    const entries = live.get(ino);
    const path = [...pathsOf(folder)].find(([, entry]) => entry.ino === ino)?.[0];
    if (entries) {
      safe.set(ino, new Map(entries));
      pending = pending.map((change) => change.filter((each) => each.folder !== ino)).filter((each) => each.length > 0);
    } else if (path) contents.set(ino, fs.readFileSync(path));
  };

  const target = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of changing) {
    const original = target[name] as (...args: unknown[]) => unknown;
    originals.set(name, original);
    target[name] = (...args) => {
      const result = original.apply(fs, args);
      note();
      return result;
    };
  }
  const { fsyncSync } = fs;
  originals.set("fsyncSync", fsyncSync);
  target.fsyncSync = (fd) => {
    fsyncSync(fd as number);
    note();
    sync(fd as number);
    note();
  };

  return {
    stop() {
      for (const [name, original] of originals) target[name] = original as (...args: unknown[]) => unknown;
    },
    get moments() {
      return moments.length;
    },
    states(at) {
      const moment = moments[at] as Moment;
      return choicesOf(moment.pending).map((chosen) => (to: string) => build(moment, chosen, to));
    },
  };
}

/** None, the first ones in order, each alone, and all but one: names reach a disk in any order. */
function choicesOf(pending: readonly Change[]): Change[][] {
  const inOrder = Array.from({ length: pending.length + 1 }, (_, n) => pending.slice(0, n));
  const alone = pending.map((change) => [change]);
  const allButOne = pending.map((change) => pending.filter((each) => each !== change));
  const all = [...inOrder, ...alone, ...allButOne];
  const keyOf = (chosen: Change[]) => chosen.map((change) => pending.indexOf(change)).join();
  return [...new Map(all.map((chosen) => [keyOf(chosen), chosen])).values()];
}

function build({ root, names, contents }: Moment, chosen: readonly Change[], to: string): void {
  const all = copied(names);
  for (const { folder, name, to: entry } of chosen.flat()) {
    const entries = all.get(folder) ?? new Map<string, Entry>();
    if (entry) entries.set(name, entry);
    else entries.delete(name);
    all.set(folder, entries);
  }
  const fill = (ino: number, path: string) => {
    fs.mkdirSync(path, { recursive: true });
    for (const [name, entry] of all.get(ino) ?? []) {
      const own = join(path, name);
      if (entry.kind === "folder") fill(entry.ino, own);
      else if (entry.kind === "link") fs.symlinkSync(entry.target, own);
      // Bytes that were not synced are lost.
      else fs.writeFileSync(own, contents.get(entry.ino) ?? "", { mode: 0o755 });
    }
  };
  fill(root, to);
}

const copied = (names: Names): Names => new Map([...names].map(([ino, entries]) => [ino, new Map(entries)]));

function* pathsOf(folder: string): Generator<[string, Entry]> {
  for (const name of fs.readdirSync(folder)) {
    const path = join(folder, name);
    const stat = fs.lstatSync(path);
    const kind = stat.isDirectory() ? "folder" : stat.isSymbolicLink() ? "link" : "file";
    yield [path, { ino: stat.ino, kind, target: kind === "link" ? fs.readlinkSync(path) : "" }];
    if (kind === "folder") yield* pathsOf(path);
  }
}

function namesOf(folder: string): Names {
  const names: Names = new Map([[fs.statSync(folder).ino, new Map()]]);
  const inos = new Map([["", fs.statSync(folder).ino]]);
  for (const [path, entry] of pathsOf(folder)) {
    const own = relative(folder, path);
    const parent = dirname(own) === "." ? "" : dirname(own);
    names.get(inos.get(parent) ?? 0)?.set(own.slice(parent === "" ? 0 : parent.length + 1), entry);
    if (entry.kind === "folder") {
      names.set(entry.ino, new Map());
      inos.set(own, entry.ino);
    }
  }
  return names;
}

function changesBetween(before: Names, now: Names): Change {
  const change: Change = [];
  for (const folder of new Set([...before.keys(), ...now.keys()])) {
    const [old, next] = [before.get(folder), now.get(folder)];
    for (const name of new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])])) {
      const [from, to] = [old?.get(name), next?.get(name)];
      // A folder that is gone has lost its names with it.
      if (next === undefined || JSON.stringify(from) === JSON.stringify(to)) continue;
      change.push({ folder, name, to: to ?? null });
    }
  }
  return change;
}
