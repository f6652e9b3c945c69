import { chmod, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, uuidv7 } from "@muster/kit";
import { type Archive, type ArchivedObject, checkKey } from "./archive.ts";

const unfinished = ".unfinished-";
/** One of this age is no longer written: its process was killed. */
const abandonedMs = 3_600_000;

/** An archive in a directory: every object is complete or missing, and on disk when `put` resolves. */
export function directoryArchive(directory: string, prefix = ""): Archive {
  const root = join(directory, prefix);
  /** Folders whose abandoned files this process has removed. */
  const tidied = new Set<string>();

  return {
    name: root,
    async put(key, body, { lockUntil } = {}) {
      checkKey(key);
      const path = join(root, key);
      const folder = dirname(path);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (!tidied.has(folder)) await removeAbandoned(folder);
      tidied.add(folder);
      const temporary = join(folder, `${unfinished}${uuidv7()}`);
      try {
        const file = await open(temporary, "wx", 0o600);
        try {
          await file.writeFile(body);
          await file.sync();
        } finally {
          await file.close();
        }
        // Modes stop no administrator; a storage with object lock does.
        if (lockUntil) await chmod(temporary, 0o400);
        await rename(temporary, path);
      } finally {
        await rm(temporary, { force: true });
      }
      await syncFolder(folder);
    },
    async get(key) {
      checkKey(key);
      try {
        return await readFile(join(root, key));
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    async *list(wanted) {
      yield* walk(root, "", wanted);
    },
    async close() {},
  };
}

/** Keys below a folder in their order; only folders that may hold some with the prefix are read. */
async function* walk(root: string, folder: string, wanted: string): AsyncGenerator<ArchivedObject> {
  let entries: { name: string; isDirectory(): boolean }[];
  try {
    entries = await readdir(join(root, folder), { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  const items = entries
    .filter(({ name }) => !name.startsWith(unfinished))
    .map((entry) => ({ key: `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`, isFolder: entry.isDirectory() }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const { key, isFolder } of items) {
    if (isFolder) {
      if (key.startsWith(wanted) || wanted.startsWith(key)) yield* walk(root, key, wanted);
    } else if (key.startsWith(wanted)) yield { key, bytes: (await stat(join(root, key))).size };
  }
}

/** Removes what killed processes left in a folder. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(unfinished)) continue;
    const path = join(folder, name);
    try {
      if ((await stat(path)).mtimeMs < Date.now() - abandonedMs) await rm(path, { force: true });
    } catch (error) {
      // Another process finished it, or removed it first.
      if (!isMissing(error)) throw error;
    }
  }
}

/** The directory entry itself must survive a crash, too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const isMissing = (error: unknown) => codeOf(error) === "ENOENT";
