import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rm, stat } from "node:fs/promises";
import type { Api } from "./api.ts";
import type { Backoff } from "./backoff.ts";
import { type Offer, UpdateRefused } from "./offer.ts";

export type DownloadDeps = {
  api: Pick<Api, "download">;
  /** Waits before another try, milliseconds. */
  pause(ms: number): Promise<void>;
  backoffMs: Backoff;
  /**
   * Milliseconds of one try (10 minutes): a server that sends a byte now and then ends it, and the next one continues.
   */
  tryMs?: number;
};

const tries = 5;
const hashBytes = 256 * 1024;
const tryMsDefault = 10 * 60_000;

/**
 * Downloads an offer's file to its last byte, continuing where an earlier try ended, and checks size and SHA-256; the
 * file is on the disk then. What does not match is removed. Throws UpdateRefused, or the error of the disk.
 */
export async function downloadOffer(deps: DownloadDeps, offer: Offer, path: string): Promise<void> {
  let bytes = 0;
  for (let attempt = 0; attempt < tries && bytes < offer.size; attempt++) {
    const got = await fetchInto(deps, offer, path);
    if (got === null) throw new UpdateRefused("download_failed", "there is no such file");
    bytes = got.bytes;
    if (bytes < offer.size) await deps.pause(deps.backoffMs(attempt, got.retryAfterMs));
  }
  if (bytes === offer.size && (await digestOf(path)) === offer.sha256) return;
  // What arrived is kept for the next offer of the same file, unless it is wrong.
  if (bytes < offer.size) throw new UpdateRefused("download_failed", `truncated after ${bytes} bytes`);
  await rm(path, { force: true });
  if (bytes > offer.size) throw new UpdateRefused("bad_size", `${bytes} bytes`);
  throw new UpdateRefused("bad_digest", "the bytes are not those of the release");
}

/** Makes one request and returns how much of the file is there afterwards; null when the server has no such file. */
async function fetchInto(
  { api, tryMs = tryMsDefault }: DownloadDeps,
  offer: Offer,
  path: string,
): Promise<{ bytes: number; retryAfterMs: number | null } | null> {
  const have = await sizeOf(path);
  if (have >= offer.size) return { bytes: have, retryAfterMs: null };
  const resuming = { range: `bytes=${have}-`, "if-range": `"${offer.sha256}"` };
  const reply = await api.download(offer.url, have > 0 ? resuming : {});
  if (reply.status === 404 || reply.status === 400) return null;
  if (reply.status === 416) await rm(path, { force: true });
  if (reply.body) {
    const file = await openPart(path, reply.status === 206);
    try {
      const of = { have: reply.status === 206 ? have : 0, size: offer.size, endMs: performance.now() + tryMs };
      await write(reply.body as AsyncIterable<Buffer>, file, of);
      await file.sync();
    } finally {
      await file.close();
    }
  }
  return { bytes: await sizeOf(path), retryAfterMs: reply.retryAfterMs };
}

/** No link is followed: the file is this agent's own. */
function openPart(path: string, continues: boolean): Promise<FileHandle> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND, O_NOFOLLOW = 0 } = constants;
  return open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | (continues ? O_APPEND : O_TRUNC), 0o600);
}

/**
 * Writes what arrives, one byte beyond `size` at most. The bytes before a cut are kept: the next try continues from
 * there. Throws the error of the disk.
 */
async function write(
  body: AsyncIterable<Buffer>,
  file: FileHandle,
  { have, size, endMs }: { have: number; size: number; endMs: number },
): Promise<void> {
  let bytes = have;
  const chunks = body[Symbol.asyncIterator]();
  while (bytes <= size && performance.now() < endMs) {
    const next = await chunks.next().catch(() => ({ done: true, value: Buffer.alloc(0) }));
    if (next.done) return;
    const chunk = next.value.subarray(0, size + 1 - bytes);
    await file.writeFile(chunk);
    bytes += chunk.length;
  }
  await chunks.return?.();
}

export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

/** SHA-256 of a file, in hex. One buffer is used again: a stream would leave as much memory as the file has. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(hashBytes);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, hashBytes);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
