import { NoteError, type NoteVerifier, openNote } from "@muster/kit";
import type { Component } from "./component.ts";
import { compareVersions } from "./version.ts";

/** A release, as far as agents' trust in it depends on it. */
export type TrustedFacts = {
  id: string;
  component: Component;
  version: string;
  /** The signed note; null when it was registered without one. */
  manifest: string | null;
  counter: number;
  createdAt: Date;
  yanked: boolean;
};

/** Whether the present keys verify the manifest of a release. */
export type Verify = (release: Pick<TrustedFacts, "id" | "manifest">) => boolean;

const releasesMax = 10_000;

/** Verifies each manifest once per set of keys: a plan is read again after each change. */
export function createVerify(): (keys: readonly NoteVerifier[]) => Verify {
  const verified = new Map<string, { manifest: string | null; isVerified: boolean }>();
  let of = "";
  return (keys) => {
    const names = keys.map(({ text }) => text).join(",");
    if (names !== of || verified.size > releasesMax) verified.clear();
    of = names;
    return ({ id, manifest }) => {
      const before = verified.get(id);
      if (before?.manifest === manifest) return before.isVerified;
      const isVerified = manifest !== null && isSigned(manifest, keys);
      verified.set(id, { manifest, isVerified });
      return isVerified;
    };
  };
}

function isSigned(note: string, keys: readonly NoteVerifier[]): boolean {
  try {
    openNote(note, keys);
    return true;
  } catch (error) {
    if (error instanceof NoteError) return false;
    throw error;
  }
}

/**
 * Why agents would refuse a release, by its id; those that they accept are absent. A signature counts by the keys of
 * today, and a counter must not be lower than that of an older version that was registered before: agents that run it
 * have seen a higher one.
 */
export function distrusted(
  releases: readonly TrustedFacts[],
  { verify, unsigned }: { verify: Verify; unsigned: boolean },
): Map<string, string> {
  const reasons = new Map<string, string>();
  for (const release of releases) {
    if (!unsigned && !verify(release)) reasons.set(release.id, "is not signed by a known key");
  }
  const trusted = releases.filter(({ id, yanked, manifest }) => manifest !== null && !yanked && !reasons.has(id));
  for (const release of trusted) {
    const higher = trusted.find((each) => each.component === release.component && hasSeenMore(each, release));
    if (higher) reasons.set(release.id, sentenceOf(release.counter, higher));
  }
  return reasons;
}

function hasSeenMore(older: TrustedFacts, release: TrustedFacts): boolean {
  return (
    older.counter > release.counter &&
    older.createdAt < release.createdAt &&
    compareVersions(older.version, release.version) < 0
  );
}

export function sentenceOf(counter: number, seen: { version: string; counter: number }): string {
  return `has the counter ${counter}, lower than ${seen.counter} of ${seen.version}: agents refuse it`;
}
