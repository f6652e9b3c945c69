import semver from "semver";

export const versionMax = 50;

/**
 * A version as it is stored and compared: strict semantic version (semver.org 2.0.0) after at most one leading `v`, without build
 * metadata; null when it is none.
 */
export function parseVersion(text: string): string | null {
  if (text.length > versionMax || !/^v?\d/.test(text)) return null;
  const bare = text.startsWith("v") ? text.slice(1) : text;
  return semver.parse(bare)?.version ?? null;
}

/** Below zero when `a` is older; both as `parseVersion` returns them. */
export function compareVersions(a: string, b: string): number {
  return semver.compare(a, b);
}

/** `1.2.0-rc.1`: never the latest, promoted by name only. */
export function isPrerelease(version: string): boolean {
  return semver.prerelease(version) !== null;
}
