import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type NoteSigner, signNote } from "@muster/kit";

export type Built = { component: string; version: string; files: Record<string, Buffer>; manifest: string };

const platforms = [
  ["linux", "amd64"],
  ["windows", "amd64"],
  ["linux", "amd64", "musl"],
] as const;

/**
 * A release of a component: one file per platform, one for musl only where that is wanted, and its manifest, signed
 * when there is a key.
 */
export function buildRelease(
  component: string,
  version: string,
  options: {
    signer?: NoteSigner;
    musl?: boolean;
    counter?: number;
    expires?: string;
    minimumVersion?: string;
    content?: string;
  } = {},
): Built {
  const { signer, musl = false, counter = 0, expires, minimumVersion, content = `${component} ${version}` } = options;
  const files: Record<string, Buffer> = {};
  const artifacts = platforms.slice(0, musl ? 3 : 2).map(([os, arch, libc]) => {
    const name = `muster-${component}-${os}-${arch}${libc ? `-${libc}` : ""}`;
    const bytes = Buffer.from(`${content} for ${os}/${arch}${libc ? `/${libc}` : ""}\n`.repeat(100));
    files[name] = bytes;
    return { os, arch, libc, name, size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  });
  const line = JSON.stringify({ version, component, counter, expires, minimumVersion, artifacts });
  return { component, version, files, manifest: signer ? signNote(`${line}\n`, signer) : `${line}\n` };
}

/** Puts releases into the folder that sync-directory reads. */
export async function publish(root: string, ...releases: readonly Built[]): Promise<void> {
  for (const { component, version, files, manifest } of releases) {
    const folder = join(root, version);
    await mkdir(folder, { recursive: true });
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
    await writeFile(join(folder, `${component}.manifest`), manifest);
  }
}
