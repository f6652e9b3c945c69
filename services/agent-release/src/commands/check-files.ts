import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { EgressRefused, failureOf } from "@muster/egress";
import type { TrustedRoot } from "@muster/kit";
import { SourceBusy, type SourceFile, type SourceRelease } from "../clients/release-source.ts";
import type { Storage } from "../clients/storage.ts";
import {
  binaryNames,
  buildOf,
  checksumsName,
  checksumsNames,
  isChecksums,
  manifestName,
  parseChecksums,
} from "../rules/checksums.ts";
import { components, isSupported } from "../rules/component.ts";
import {
  artifactBytesMax,
  type Manifest,
  ManifestError,
  manifestMax,
  namedTwice,
  noKeys,
  openManifest,
  type Skipped,
  unsupported,
} from "../rules/manifest.ts";
import { type NewRoot, newRoot, rootNoteName } from "../rules/manifest-root.ts";
import type { Prepared } from "./register-release.ts";

export type FailedAsset = { asset: string; reason: string };

/** Nothing of the release may be registered. */
export class SyncFailed extends Error {
  readonly failed: readonly FailedAsset[];
  readonly untrusted: boolean;
  constructor(failed: readonly FailedAsset[], untrusted = false) {
    super(failed.map(({ asset, reason }) => `${asset}: ${reason}`).join("; "));
    this.name = "SyncFailed";
    this.failed = failed;
    this.untrusted = untrusted;
  }
}

export type CheckDeps = {
  /** Keys that manifests are read with. */
  root: TrustedRoot;
  /** Whether a release may be unsigned where there are no keys. */
  unsigned: boolean;
  storage: Storage | null;
  /** Files are stored even where the source has an address for them. */
  storeAll: boolean;
  /** Gets the digest of each file that is stored, also when another one is bad. */
  onStored(sha256: string): void;
  now: () => Date;
  onProgress?: () => Promise<void>;
};

type Planned = { manifest: Manifest; signed: boolean; note: string | null; skipped: Skipped[] };
export type Checked = { prepared: Prepared[]; root: NewRoot | null; skipped: Skipped[] };

/**
 * Reads the root note and the manifests of a release, then every file that they name, to its last byte; `skipped` are
 * the other files. Throws SyncFailed, SourceBusy.
 */
export async function checkRelease(deps: CheckDeps, source: string, release: SourceRelease): Promise<Checked> {
  const root = await rootOf(deps, release);
  const planned = await plansOf({ ...deps, root: root ?? deps.root }, release);
  const byName = new Map(release.files.map((file) => [file.name, file]));
  const failed: FailedAsset[] = [];
  const prepared: Prepared[] = [];
  const directory = await mkdtemp(join(tmpdir(), "muster-release-"));
  try {
    for (const { manifest, signed, note } of planned) {
      const files = new Map<string, { url: string | null; stored: boolean }>();
      for (const artifact of manifest.artifacts) {
        const file = byName.get(artifact.name);
        const problem = file ? problemOf(artifact, file) : "missing";
        if (!file || problem) {
          failed.push({ asset: artifact.name, reason: problem ?? "missing" });
          continue;
        }
        const toStore = deps.storeAll || file.url === null;
        if (toStore && !deps.storage)
          throw new SyncFailed([{ asset: artifact.name, reason: "no store is configured" }]);
        const path = toStore ? join(directory, artifact.sha256) : null;
        const reason = await readWhole(file, artifact, path);
        if (reason !== null) failed.push({ asset: artifact.name, reason });
        else {
          if (path !== null) {
            deps.onStored(artifact.sha256);
            await deps.storage?.putFile(artifact.sha256, path, artifact.size);
          }
          files.set(artifact.name, { url: file.url, stored: toStore });
        }
        if (path !== null) await rm(path, { force: true });
        await deps.onProgress?.();
      }
      const { notesUrl, prerelease } = release;
      prepared.push({ manifest, signed, prerelease, note, source, notesUrl, files });
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  if (failed.length > 0) throw new SyncFailed(failed);
  return { prepared, root, skipped: skippedOf(release, planned) };
}

/** Files that no agent gets: of other platforms, and those that neither manifest nor checksums name. */
function skippedOf({ files }: SourceRelease, planned: readonly Planned[]): Skipped[] {
  const listed = planned.flatMap(({ skipped }) => skipped);
  const named = new Set([
    ...planned.flatMap(({ manifest }) => manifest.artifacts.map(({ name }) => name)),
    rootNoteName,
  ]);
  for (const component of components) named.add(manifestName(component));
  for (const { asset } of listed) named.add(asset);
  const others = files.filter(({ name }) => !named.has(name) && !isChecksums(name));
  const source = planned.some(({ note }) => note !== null) ? "manifest" : "file of checksums";
  const reasonFor = (name: string) => {
    const build = buildOf(name);
    if (build === null) return `its name is not ${binaryNames}`;
    return isSupported(build) ? `no ${source} names it` : unsupported(build);
  };
  return [...listed, ...others.map(({ name }) => ({ asset: name, reason: reasonFor(name) }))];
}

/** The root that a release's root note exchanges the keys for; null without one, or when it is stored already. */
async function rootOf(deps: CheckDeps, release: SourceRelease): Promise<NewRoot | null> {
  const file = release.files.find(({ name }) => name === rootNoteName);
  if (!file) return null;
  const note = await textOf(file, manifestMax);
  return trusting(rootNoteName, () => newRoot(deps.root, note));
}

/** An invalid note fails the sync, under the name of its file. */
function trusting<T>(asset: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ManifestError) throw new SyncFailed([{ asset, reason: error.message }], error.untrusted);
    throw error;
  }
}

async function plansOf(deps: CheckDeps, release: SourceRelease): Promise<Planned[]> {
  const byName = new Map(release.files.map((file) => [file.name, file]));
  const planned: Planned[] = [];
  for (const component of components) {
    const name = manifestName(component);
    const file = byName.get(name);
    if (!file) continue;
    const text = await textOf(file, manifestMax);
    const { manifest, signed, skipped } = trusting(name, () => {
      const opened = openManifest(text, deps.root.keys, deps.now(), deps.unsigned);
      const { component: of, version } = opened.manifest;
      if (of !== component || version !== release.version) throw new ManifestError(`is for ${of} ${version}`, true);
      return opened;
    });
    planned.push({ manifest, signed, note: text, skipped });
  }
  if (planned.length > 0) return planned;
  if (deps.root.keys.length > 0) throw new SyncFailed([{ asset: manifestName("agent"), reason: "missing" }], true);
  if (!deps.unsigned) throw new SyncFailed([{ asset: checksumsName, reason: noKeys }], true);
  return plansByChecksums(release);
}

/** A release without manifests: its file of checksums names the binaries. */
async function plansByChecksums(release: SourceRelease): Promise<Planned[]> {
  const byName = new Map(release.files.map((file) => [file.name, file]));
  const checksums = release.files.find(({ name }) => isChecksums(name));
  const expected = `expected ${manifestName("agent")}, or ${checksumsNames}`;
  if (!checksums) throw new SyncFailed([{ asset: checksumsName, reason: `missing: ${expected}` }]);
  const found = parseChecksums(await textOf(checksums, 1024 * 1024));
  const twice = [...found.values()].flatMap((artifacts) => namedTwice(artifacts));
  if (twice.length > 0) {
    const failed = twice.flatMap(({ platform, names }) =>
      names.map((asset) => ({ asset, reason: `one of two files for ${platform}` })),
    );
    throw new SyncFailed(failed);
  }
  if (found.size === 0)
    throw new SyncFailed([{ asset: checksums.name, reason: `names no binary: expected ${binaryNames}` }]);
  return [...found].map(([component, artifacts]) => {
    const sized = artifacts.map((artifact) => ({ ...artifact, size: byName.get(artifact.name)?.size ?? 0 }));
    const manifest: Manifest = { version: release.version, component, counter: 0, artifacts: sized };
    return { manifest, signed: false, note: null, skipped: [] };
  });
}

function problemOf(wanted: { size: number; sha256: string }, file: SourceFile): string | null {
  if (wanted.size < 1 || wanted.size > artifactBytesMax) return "size not known or beyond 1 GiB";
  if (file.size !== null && file.size !== wanted.size) return "wrong size";
  if (file.sha256 !== null && file.sha256 !== wanted.sha256) return "wrong digest";
  return null;
}

/** Reads a file to its end, into `path` when there is one; returns what is wrong with it, or null. */
async function readWhole(
  file: SourceFile,
  wanted: { size: number; sha256: string },
  path: string | null,
): Promise<string | null> {
  const hash = createHash("sha256");
  let size = 0;
  const measured = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      hash.update(chunk);
      done(size > wanted.size ? new Error("too long") : null, chunk);
    },
  });
  const body = await file.open().catch((error: unknown) => {
    if (error instanceof SourceBusy) throw error;
    return error as Error;
  });
  if (body instanceof Error) return reasonOf(body);
  try {
    if (path !== null) await pipeline(body, measured, createWriteStream(path));
    else
      await pipeline(body, measured, async (all) => {
        for await (const _ of all) {
          // The file is only measured.
        }
      });
  } catch (error) {
    if (size > wanted.size) return "wrong size";
    // An answer had come: of a broken connection only the code says more.
    const code = error instanceof Error && "code" in error ? String(error.code) : null;
    return `truncated after ${size} bytes${code === null ? `: ${reasonOf(error)}` : ` (${code})`}`;
  }
  if (size !== wanted.size) return `truncated after ${size} bytes`;
  return hash.digest("hex") === wanted.sha256 ? null : "wrong digest";
}

/** What went wrong outside of the platform, in words for the user. */
export function reasonOf(error: unknown): string {
  if (error instanceof EgressRefused) return "its address is not allowed";
  if (!(error instanceof Error)) return "failed";
  // Messages of Node's own errors name addresses.
  return Object.hasOwn(error, "code") ? failureOf(error).message : error.message || "failed";
}

async function textOf(file: SourceFile, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of await file.open()) {
      size += chunk.length;
      if (size > maxBytes) throw new Error(`longer than ${maxBytes} bytes`);
      chunks.push(Buffer.from(chunk));
    }
  } catch (error) {
    if (error instanceof SourceBusy) throw error;
    throw new SyncFailed([{ asset: file.name, reason: reasonOf(error) }]);
  }
  return Buffer.concat(chunks).toString("utf8");
}
