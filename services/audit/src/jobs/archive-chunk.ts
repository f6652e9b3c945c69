import { gzipSync } from "node:zlib";
import type { Database } from "@muster/db";
import type { Archive } from "../clients/archive/archive.ts";
import {
  type ArchivedChunk,
  type ArchiveReference,
  chunkKey,
  chunkPrefix,
  lastSeqOf,
  manifestKeyOf,
  renderManifest,
  sha256,
} from "../rules/archive-chunk.ts";
import { renderRow } from "../rules/export-line.ts";
import { chainRowOf } from "../store/chain-rows.ts";
import { type DueChain, type DuePiece, rowsOfPiece } from "../store/pruning.ts";

type Deps = { db: Database; archive: Archive; deployment: string; pageRows: number; chunkBytes: number };

export type Archived = { piece: DuePiece; reference: ArchiveReference };

/**
 * Archives a range of a chain, or its first chunk when it is larger, and verifies the written object by reading it
 * back. A chunk that a stopped worker had started is written again under the same key: keys are derived from the rows.
 */
export async function archiveChunk(deps: Deps, chain: DueChain, due: DuePiece): Promise<Archived> {
  const { archive, deployment } = deps;
  const { chainId, orgId, partnerId } = chain;
  const lastSeq = (await startedChunk(archive, chainId, due)) ?? due.lastSeq;
  const read = await linesOf(deps, chainId, due.firstSeq, lastSeq);
  const body = gzipSync(read.text);
  const key = chunkKey(chainId, due.firstSeq, read.lastSeq);
  await put(archive, key, body, "application/gzip");
  const chunk: ArchivedChunk = {
    chainId,
    orgId,
    partnerId,
    firstSeq: due.firstSeq,
    lastSeq: read.lastSeq,
    firstPrevChecksum: read.firstPrevChecksum,
    lastChecksum: read.lastChecksum,
    object: { key, bytes: body.length, sha256: sha256(body) },
    content: { bytes: read.text.length, sha256: sha256(read.text) },
  };
  const manifestKey = manifestKeyOf(key);
  const manifest = renderManifest(deployment, chunk);
  await put(archive, manifestKey, manifest, "application/json");
  const rows = read.lastSeq - due.firstSeq + 1;
  return {
    piece: { firstSeq: due.firstSeq, lastSeq: read.lastSeq, lastChecksum: read.lastChecksum },
    reference: { key, manifestKey, manifestSha256: sha256(manifest), bytes: body.length, rows },
  };
}

/** The end of a chunk that begins here and is complete in the archive, though its rows are still in the database. */
async function startedChunk(archive: Archive, chainId: string, due: DuePiece): Promise<number | null> {
  for await (const { key } of archive.list(chunkPrefix(chainId, due.firstSeq))) {
    const lastSeq = lastSeqOf(key);
    if (lastSeq !== null && lastSeq <= due.lastSeq) return lastSeq;
  }
  return null;
}

/** Rows as export lines until `lastSeq` or until there are `chunkBytes` of them. */
async function linesOf({ db, pageRows, chunkBytes }: Deps, chainId: string, firstSeq: number, lastSeq: number) {
  const lines: Buffer[] = [];
  let bytes = 0;
  let next = firstSeq;
  let firstPrevChecksum: string | null = null;
  let lastChecksum = "";
  while (next <= lastSeq && bytes < chunkBytes) {
    const rows = await rowsOfPiece(db, chainId, { from: next, lastSeq, count: pageRows });
    if (rows.length === 0) throw new Error(`row ${next} of chain ${chainId} is missing: nothing after it is pruned`);
    for (const row of rows) {
      // A gap is a finding for verification, not something to be deleted with the rest.
      if (row.seq !== next) throw new Error(`row ${next} of chain ${chainId} is missing: nothing after it is pruned`);
      if (row.seq === firstSeq) firstPrevChecksum = row.prev_checksum;
      const line = Buffer.from(renderRow(chainRowOf(row)));
      lines.push(line);
      bytes += line.length;
      lastChecksum = row.checksum;
      next += 1;
      if (bytes >= chunkBytes) break;
    }
  }
  return { text: Buffer.concat(lines), lastSeq: next - 1, firstPrevChecksum, lastChecksum };
}

/** Stores and reads back: what is deleted afterwards must be there. */
async function put(archive: Archive, key: string, body: Buffer, contentType: string): Promise<void> {
  await archive.put(key, body, { contentType });
  const stored = await archive.get(key);
  if (!stored || sha256(stored) !== sha256(body)) throw new Error(`${archive.name}${key} is not what was stored there`);
}
