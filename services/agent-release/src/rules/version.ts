import type { SemVer } from "semver";
import parse from "semver/functions/parse.js";

export const versionMax = 50;

/**
 * A version as it is stored and compared: strict semantic version (semver.org 2.0.0) after at most one leading `v`,
 * without build metadata; null when it is none.
 */
export function parseVersion(text: string): string | null {
  return read(text)?.version ?? null;
}

/** Below zero when `a` is older; both as `parseVersion` returns them. Throws on anything else. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [read(a), read(b)];
  if (one === null || other === null) throw new Error("not a semantic version");
  return one.compare(other);
}

/** `1.2.0-rc.1`: never the latest, promoted by name only. */
export function isPrerelease(version: string): boolean {
  return (read(version)?.prerelease.length ?? 0) > 0;
}

/** A fleet reports the same few versions repeatedly: a cache of parsed ones. */
const cache = new Map<string, SemVer | null>();
const cacheMax = 10_000;

function read(text: string): SemVer | null {
  if (text.length > versionMax) return null;
  let version = cache.get(text);
  if (version === undefined) {
    version = /^v?\d/.test(text) ? parse(text.replace(/^v/, "")) : null;
    if (cache.size >= cacheMax) cache.clear();
    cache.set(text, version);
  }
  return version;
}
