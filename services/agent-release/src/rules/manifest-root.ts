import { NoteError, type NoteVerifier, nextRoot, rootNumberOf, type TrustedRoot } from "@muster/kit";
import { ManifestError } from "./manifest.ts";

export const rootNoteName = "root.note";

/** A root note that exchanges the keys of manifests from now on. */
export type NewRoot = TrustedRoot & { note: string };

/**
 * The keys that manifests are read with: those of the setting, exchanged by the root notes that are kept, oldest first.
 * The setting may hold the keys of any of these roots; a note that the keys before it do not verify is ignored.
 */
export function manifestRoot(pinned: readonly NoteVerifier[], notes: readonly string[]): TrustedRoot {
  let at: TrustedRoot = { number: 1, keys: pinned };
  for (const note of notes) {
    try {
      at = nextRoot({ number: rootNumberOf(note) - 1, keys: at.keys }, note);
    } catch (error) {
      if (!(error instanceof NoteError)) throw error;
    }
  }
  return at;
}

/** The change of a published root note; null for a known one, or where no keys are set. Throws ManifestError. */
export function newRoot(before: TrustedRoot, note: string): NewRoot | null {
  if (before.keys.length === 0) return null;
  try {
    return rootNumberOf(note) <= before.number ? null : { ...nextRoot(before, note), note };
  } catch (error) {
    if (error instanceof NoteError) throw new ManifestError(error.message, true);
    throw error;
  }
}
