import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must, unpackDebian } from "./debian-package.ts";
import { onPath } from "./path.ts";
import { Problem } from "./problem.ts";

const releaseVersion = "2.11.8";

/** SHA-256 of the official archives (SHA256SUMS of the release; the official image holds the Linux ones, too). */
const releaseSums: Record<string, string> = {
  "linux-amd64": "397a6deffb5533e160de0cca322bc3dcaec7fb7282d66a3dfa87a9c183152ad1",
  "linux-arm64": "b08936cb1dc0ae7086137bda14c352df64397c4af45ed2b392705c19585aeb84",
  "darwin-amd64": "002c943c1ed39c55cc5e024debfc02685111fcb2b1cbd887aad39ac977037477",
  "darwin-arm64": "23e0c5354c2da385708946a21900c944fcb9a3bbfd02aae27a4ae750dea0b682",
};

const connectMs = 5_000;
const downloadMs = 120_000;

/** The official archive for a platform; null where none is pinned. */
export function releaseFor(platform: string, arch: string): { url: string; sha256: string; folder: string } | null {
  const key = `${platform}-${arch === "x64" ? "amd64" : arch}`;
  const sha256 = releaseSums[key];
  if (!sha256) return null;
  const folder = `nats-server-v${releaseVersion}-${key}`;
  const url = `https://github.com/nats-io/nats-server/releases/download/v${releaseVersion}/${folder}.tar.gz`;
  return { url, sha256, folder };
}

/**
 * A nats-server that runs here: `explicit` (NATS_SERVER_BIN), else PATH, else one kept in `cacheDir` from an earlier
 * start, else the pinned official release, else the Debian package's binary. Throws a `Problem` that says what to do.
 */
export async function natsServer(
  explicit: string | undefined,
  cacheDir: string,
  say: (line: string) => void,
): Promise<string> {
  if (explicit) {
    if (runs(explicit)) return explicit;
    throw new Problem(`NATS_SERVER_BIN=${explicit} is not a nats-server that runs here.`);
  }
  const installed = onPath("nats-server", process.env.PATH ?? "").find(runs);
  if (installed) return installed;
  const cached = join(cacheDir, "nats-server");
  if (existsSync(cached) && runs(cached)) return cached;
  say("nats-server is not installed: fetching it");
  const tried: string[] = [];
  for (const fetchIt of [fromRelease, fromDebian]) {
    const work = mkdtempSync(join(tmpdir(), "muster-nats-"));
    try {
      const binary = await fetchIt(work);
      if (!runs(binary)) throw new Error("the fetched nats-server does not run here");
      return keep(binary, cached);
    } catch (error) {
      tried.push(error instanceof Error ? error.message : String(error));
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  throw new Problem(
    `No nats-server on this machine, and none could be fetched:\n${tried.map((line) => `  - ${line}`).join("\n")}\n` +
      "Install one (https://nats.io/download, `apt-get install nats-server`, `brew install nats-server`) or name a binary " +
      "in NATS_SERVER_BIN.",
  );
}

function runs(binary: string): boolean {
  const result = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return result.status === 0 && /nats-server/.test(result.stdout + result.stderr);
}

/** Other supervisors may look at the same moment: the file appears whole or not at all. */
function keep(binary: string, cached: string): string {
  mkdirSync(join(cached, ".."), { recursive: true, mode: 0o755 });
  const partial = `${cached}.${process.pid}`;
  copyFileSync(binary, partial);
  chmodSync(partial, 0o755);
  renameSync(partial, cached);
  return cached;
}

async function fromRelease(work: string): Promise<string> {
  const release = releaseFor(process.platform, process.arch);
  if (!release) throw new Error(`no official release is pinned for ${process.platform} ${process.arch}`);
  const control = new AbortController();
  let timer = setTimeout(() => control.abort(new Error(`no answer within ${connectMs / 1000} s`)), connectMs);
  let archive: Buffer;
  try {
    const response = await fetch(release.url, { signal: control.signal });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    clearTimeout(timer);
    timer = setTimeout(() => control.abort(new Error(`not complete after ${downloadMs / 1000} s`)), downloadMs);
    archive = Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${release.url}: ${cause instanceof Error ? cause.message : cause}`);
  } finally {
    clearTimeout(timer);
  }
  const sum = createHash("sha256").update(archive).digest("hex");
  if (sum !== release.sha256) throw new Error(`${release.url}: SHA-256 is ${sum}, ${release.sha256} was expected`);
  const file = join(work, "nats-server.tar.gz");
  writeFileSync(file, archive);
  must("tar", ["-xzf", file, "-C", work]);
  return join(work, release.folder, "nats-server");
}

/** The package's binary alone: installing the package would start a server on port 4222. */
async function fromDebian(work: string): Promise<string> {
  const unpacked = unpackDebian(work, ["nats-server"]);
  const found = ["usr/sbin", "usr/bin"].map((folder) => join(unpacked, folder, "nats-server")).find(existsSync);
  if (!found) throw new Error("the Debian package nats-server holds no nats-server");
  return found;
}
