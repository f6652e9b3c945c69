import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Refusal } from "../refusal.mjs";

const downloadMs = 120_000;
/** SHA-256 of bytes, hexadecimal. */
export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

async function bytesAt(url) {
  const reply = await fetch(url, { signal: AbortSignal.timeout(downloadMs) });
  if (!reply.ok) throw new Error(`HTTP ${reply.status}`);
  return Buffer.from(await reply.arrayBuffer());
}

/**
 * A file by its pinned SHA-256, of the first URL that has it, kept in a folder under its digest. Throws a refusal when
 * a URL has another file, or none has it.
 */
export async function download(urls, digest, cache, fetched = bytesAt) {
  const file = join(cache, digest);
  if (existsSync(file) && sha256(readFileSync(file)) === digest) return file;
  const problems = [];
  for (const url of urls) {
    let bytes;
    try {
      bytes = await fetched(url);
    } catch (error) {
      problems.push(`${url}: ${error.cause?.message ?? error.message}`);
      continue;
    }
    const found = sha256(bytes);
    if (found !== digest) throw new Refusal("download", `${url} has SHA-256 ${found}, ${digest} is pinned.`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.${process.pid}`, bytes);
    renameSync(`${file}.${process.pid}`, file);
    return file;
  }
  throw new Refusal("download", `no mirror has a pinned file: ${problems.join("; ")}.`);
}
