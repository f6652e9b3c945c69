import { execFile } from "node:child_process";
import fs, { createReadStream, createWriteStream } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { type AcceptedOffer, canonicalVersion, digestOf, type Offer, UpdateRefused } from "@muster/agent";
import { codeOf } from "@muster/kit/agent";
import { readStored, syncFile, syncFolder, writeDurably } from "../durable.ts";
import { type Paths, programName } from "../paths.ts";

/** `release.json` of a version. */
export type Release = { version: string; size: number; sha256: string; counter: number; component: string };

const proofMs = 20_000;

/** Size and digest of the program of an offer: what is inside, when it travels compressed. */
export const programOf = ({ artifact }: AcceptedOffer) => artifact.program ?? artifact;

const folderFor = (paths: Paths, offer: Offer, accepted: AcceptedOffer) =>
  paths.folderOf(canonicalVersion(offer.version), programOf(accepted).sha256);

/** Whether the program of an offer is installed beside the running one, undamaged. */
export function hasRelease(paths: Paths, offer: Offer, accepted: AcceptedOffer): Promise<boolean> {
  return isWhole(join(paths.programFolder, folderFor(paths, offer, accepted)));
}

/** Folder of an offer that is not proved yet, made when it is not there; its older siblings are removed. */
export function unverifiedFolder(paths: Paths, offer: Offer): string {
  const folder = `${join(paths.programFolder, paths.folderOf(canonicalVersion(offer.version), offer.sha256))}.unverified`;
  fs.mkdirSync(paths.versions, { recursive: true, mode: 0o755 });
  for (const name of fs.readdirSync(paths.versions)) {
    const path = join(paths.versions, name);
    if (name.endsWith(".unverified") && path !== folder) fs.rmSync(path, { recursive: true, force: true });
  }
  const entry = fs.lstatSync(folder, { throwIfNoEntry: false });
  // A link would lead the download to another place.
  if (entry && !entry.isDirectory()) fs.rmSync(folder, { force: true });
  // Not recursive: that hides the error of a read-only disk.
  if (!entry?.isDirectory()) fs.mkdirSync(folder, { mode: 0o700 });
  return folder;
}

/**
 * Unpacks a downloaded file, compares the program with its manifest and starts it once with `--version`. Throws
 * UpdateRefused, or an Error whose message is reported.
 */
export async function proveRelease(offer: Offer, accepted: AcceptedOffer, part: string): Promise<void> {
  const program = join(dirname(part), programName);
  const wanted = programOf(accepted);
  fs.rmSync(program, { force: true });
  await unpack(part, program, accepted.artifact.encoding, wanted.size);
  if (fs.statSync(program).size !== wanted.size) throw new UpdateRefused("bad_size", "the program has another size");
  if ((await digestOf(program)) !== wanted.sha256) throw new UpdateRefused("bad_digest", "the program is another one");
  fs.chmodSync(program, 0o755);
  syncFile(program);
  const version = await versionOf(program);
  if (version !== canonicalVersion(offer.version)) {
    throw new UpdateRefused("wrong_component", `the program says that it is ${version}`);
  }
}

async function unpack(part: string, program: string, encoding: string | undefined, size: number): Promise<void> {
  if (encoding !== undefined && encoding !== "gzip") {
    throw new UpdateRefused("wrong_component", `the file is packed as ${encoding}`);
  }
  const output = createWriteStream(program, { flags: "wx", mode: 0o700 });
  if (encoding === undefined) return pipeline(createReadStream(part), output);
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(bytes > size ? new UpdateRefused("bad_size", `more than ${size} bytes are packed`) : null, chunk);
    },
  });
  try {
    await pipeline(createReadStream(part), createGunzip(), limit, output);
  } catch (error) {
    const code = codeOf(error);
    if (code.startsWith("Z_")) throw new UpdateRefused("bad_digest", "the file cannot be unpacked");
    throw error;
  }
}

/** Version that a program prints. Throws an Error when it does not start. */
function versionOf(program: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      timeout: proofMs,
      maxBuffer: 65_536,
      killSignal: "SIGKILL" as const,
      env: { PATH: process.env.PATH },
    };
    execFile(program, ["--version"], options, (error, stdout) => {
      const code = codeOf(error);
      if (code === "EACCES") return reject(new Error("noexec: the program folder does not permit programs"));
      if (error) return reject(new Error(`does not start: ${error.killed ? "no end" : code || error.message}`));
      resolve(/^muster-agent (\S+)/.exec(stdout)?.[1] ?? "");
    });
  });
}

/** Gives a proved version its name: from now on it is what its folder says. Returns the folder, relative. */
export async function nameRelease(paths: Paths, offer: Offer, accepted: AcceptedOffer, part: string): Promise<string> {
  const target = folderFor(paths, offer, accepted);
  const folder = join(paths.programFolder, target);
  // The same program may be there already: as the other component, or of an earlier attempt.
  if (part === "") return target;
  const { size, sha256 } = programOf(accepted);
  const { component } = offer;
  const release: Release = {
    version: canonicalVersion(offer.version),
    size,
    sha256,
    counter: accepted.counter,
    component,
  };
  const unverified = dirname(part);
  writeDurably(join(unverified, "release.json"), JSON.stringify(release), 0o644);
  fs.rmSync(part, { force: true });
  fs.chmodSync(unverified, 0o755);
  syncFolder(unverified);
  if (fs.existsSync(folder)) {
    if (await isWhole(folder)) {
      fs.rmSync(unverified, { recursive: true, force: true });
      return target;
    }
    fs.renameSync(folder, `${folder}.damaged.unverified`);
  }
  fs.renameSync(unverified, folder);
  syncFolder(paths.versions);
  return target;
}

/** Whether the program of a version's folder is the one that was proved. */
export async function isWhole(folder: string): Promise<boolean> {
  const release = readStored<Release>(join(folder, "release.json"));
  const program = join(folder, programName);
  if (release === null || fs.statSync(program, { throwIfNoEntry: false })?.size !== release.size) return false;
  return (await digestOf(program)) === release.sha256;
}

/** Removes the versions that no link leads to. */
export function pruneReleases(paths: Paths, keep: readonly (string | null)[]): void {
  const kept = keep.filter((target) => target !== null).map((target) => basename(target));
  for (const name of fs.readdirSync(paths.versions)) {
    if (!kept.includes(name)) fs.rmSync(join(paths.versions, name), { recursive: true, force: true });
  }
}
