import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Api } from "./api.ts";
import { type Offer, UpdateRefused } from "./update-offer.ts";

/** The files of one device: per component the running binary, the previous one, and the present download. */
export type Binaries = {
  /**
   * Downloads to its last byte, going on where an earlier try ended, and checks size and SHA-256. Throws UpdateRefused.
   */
  download(offer: Offer): Promise<void>;
  /** Replaces the binary by the downloaded one; the previous binary is kept next to it. */
  install(component: string): Promise<void>;
  /** Restores the previous binary. */
  restore(component: string): Promise<void>;
};

const tries = 5;

export function createBinaries(deps: {
  api: Pick<Api, "download">;
  folder: string;
  /** Waits before another try, milliseconds. */
  pause(ms: number): Promise<void>;
  backoffMs(attempt: number, retryAfterMs: number | null): number;
  /** Whether to change downloaded bytes, as a fault. */
  corrupts: boolean;
}): Binaries {
  const { api, folder, pause, backoffMs, corrupts } = deps;
  const pathOf = (component: string, kind: "" | ".previous" | ".part" = "") => join(folder, component + kind);

  /** Makes one request and returns how much of the file is there afterwards; null when the server has no such file. */
  const fetchInto = async (
    offer: Offer,
    part: string,
  ): Promise<{ bytes: number; retryAfterMs: number | null } | null> => {
    const have = await sizeOf(part);
    if (have >= offer.size) return { bytes: have, retryAfterMs: null };
    const resuming = { range: `bytes=${have}-`, "if-range": `"${offer.sha256}"` };
    const reply = await api.download(offer.url, have > 0 ? resuming : {});
    if (reply.status === 404 || reply.status === 400) return null;
    if (reply.status === 416) await rm(part, { force: true });
    if (reply.body) {
      const file = await open(part, reply.status === 206 ? "a" : "w");
      try {
        for await (const chunk of reply.body) await file.write(chunk as Buffer);
      } catch {
        // The bytes before the cut are kept: the next attempt continues from there.
      } finally {
        await file.close();
      }
    }
    return { bytes: await sizeOf(part), retryAfterMs: reply.retryAfterMs };
  };

  return {
    async download(offer) {
      await mkdir(folder, { recursive: true });
      const part = pathOf(offer.component, ".part");
      let bytes = 0;
      for (let attempt = 0; attempt < tries && bytes < offer.size; attempt++) {
        const got = await fetchInto(offer, part);
        if (got === null) throw new UpdateRefused("download_failed", "there is no such file");
        bytes = got.bytes;
        if (bytes < offer.size) await pause(backoffMs(attempt, got.retryAfterMs));
      }
      if (bytes === offer.size && !corrupts && (await digestOf(part)) === offer.sha256) return;
      await rm(part, { force: true });
      if (bytes < offer.size) throw new UpdateRefused("download_failed", `truncated after ${bytes} bytes`);
      if (bytes > offer.size) throw new UpdateRefused("bad_size", `${bytes} bytes`);
      throw new UpdateRefused("bad_digest", "the bytes are not those of the release");
    },
    async install(component) {
      const path = pathOf(component);
      if ((await sizeOf(path)) > 0) await copyFile(path, pathOf(component, ".previous"));
      // Removed first: a binary that runs cannot be written on Linux.
      await rm(path, { force: true });
      await rename(pathOf(component, ".part"), path);
    },
    async restore(component) {
      await rm(pathOf(component), { force: true });
      await rename(pathOf(component, ".previous"), pathOf(component)).catch((error: NodeJS.ErrnoException) => {
        // The first binary was never downloaded here.
        if (error.code !== "ENOENT") throw error;
      });
    },
  };
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}
