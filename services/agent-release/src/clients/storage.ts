import { randomUUID } from "node:crypto";
import { access, copyFile, type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** The store of binaries, by the SHA-256 of their bytes: identical files are stored once. */
export type Storage = {
  name: string;
  /** Keeps the bytes of a local file. */
  putFile(sha256: string, path: string, size: number): Promise<void>;
  /** Whether the bytes are kept. */
  has(sha256: string): Promise<boolean>;
  /**
   * Bytes from `start` to before `end`; null when they are not stored. Each part is valid until the next is requested.
   */
  read(sha256: string, start: number, end: number): Promise<AsyncIterable<Uint8Array> | null>;
  /** A URL at which a client gets the bytes for some minutes; null when they are read through this service. */
  urlOf(sha256: string, name: string): Promise<string | null>;
  remove(sha256: string): Promise<void>;
  close(): void;
};

const sha256Form = /^[0-9a-f]{64}$/;
/** The size of one part of a download: an HTTP/2 stream sends it without waiting for its window. */
export const pieceBytes = 60 * 1024;
/** As much as is read of a file at once. */
const partBytes = 4 * pieceBytes;

/** Nothing but a digest ever becomes part of a path. Throws on anything else. */
export function storeKey(sha256: string): string {
  if (!sha256Form.test(sha256)) throw new Error("not the SHA-256 of a stored file");
  return `${sha256.slice(0, 2)}/${sha256}`;
}

/** A folder. A file appears under its name when all of it is on disk. */
export function directoryStorage(root: string): Storage {
  const pathOf = (sha256: string) => join(root, storeKey(sha256));
  return {
    name: root,
    async putFile(sha256, path) {
      const target = pathOf(sha256);
      await mkdir(join(target, ".."), { recursive: true });
      const temporary = `${target}.${randomUUID()}`;
      try {
        await copyFile(path, temporary);
        const file = await open(temporary, "r");
        await file.sync();
        await file.close();
        await rename(temporary, target);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    },
    has: (sha256) =>
      access(pathOf(sha256)).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code === "ENOENT") return false;
          throw error;
        },
      ),
    async read(sha256, start, end) {
      const file = await open(pathOf(sha256), "r").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return null;
        throw error;
      });
      if (!file) return null;
      return partsOf(file, start, end);
    },
    urlOf: async () => null,
    remove: (sha256) => rm(pathOf(sha256), { force: true }),
    close() {},
  };
}

/** One buffer for a whole download: allocating memory costs more than filling it. */
async function* partsOf(file: FileHandle, start: number, end: number): AsyncGenerator<Uint8Array> {
  try {
    const buffer = Buffer.allocUnsafeSlow(Math.min(partBytes, Math.max(0, end - start)));
    for (let at = start; at < end; ) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - at), at);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}
