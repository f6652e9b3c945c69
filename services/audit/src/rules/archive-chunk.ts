import { createHash } from "node:crypto";

/** A piece of a chain as it lies in the archive. */
export type ArchivedChunk = {
  chainId: string;
  orgId: string | null;
  partnerId: string | null;
  firstSeq: number;
  lastSeq: number;
  /** What the first row links to. */
  firstPrevChecksum: string | null;
  lastChecksum: string;
  object: { key: string; bytes: number; sha256: string };
  /** Of the lines before compression. */
  content: { bytes: number; sha256: string };
};

/** What a receipt records of an archived chunk. */
export type ArchiveReference = {
  key: string;
  manifestKey: string;
  manifestSha256: string;
  bytes: number;
  rows: number;
};

const digits = 16;
const padded = (seq: number) => String(seq).padStart(digits, "0");

/** Prefix of the keys of chunks that start at `firstSeq`: the same rows always have the same key. */
export function chunkPrefix(chainId: string, firstSeq: number): string {
  return `rows/${chainId}/${padded(firstSeq)}-`;
}

export function chunkKey(chainId: string, firstSeq: number, lastSeq: number): string {
  return `${chunkPrefix(chainId, firstSeq)}${padded(lastSeq)}.jsonl.gz`;
}

/** `rows/….jsonl.gz` → `rows/….manifest.json`, written last: a chunk with a manifest is complete. */
export const manifestKeyOf = (key: string) => key.replace(/\.jsonl\.gz$/, ".manifest.json");

/** The last seq that a manifest's key names; null for other keys. */
export function lastSeqOf(key: string): number | null {
  const [, last] = /-(\d{16})\.manifest\.json$/.exec(key) ?? [];
  return last === undefined ? null : Number(last);
}

/** The manifest of a chunk: identical bytes for identical chunks. */
export function renderManifest(deployment: string, chunk: ArchivedChunk): Buffer {
  const { firstSeq, lastSeq } = chunk;
  const manifest = { format: 1, deployment, ...chunk, rows: lastSeq - firstSeq + 1 };
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
