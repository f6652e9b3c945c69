import { messageOf } from "../errors/caught.ts";
import { fieldsOf } from "../text/fields.ts";
import { NoteError, type NoteVerifier, openNote, parseVerifier } from "./signed-note.ts";

/** Keys that are trusted together, and how many times they were exchanged: the first are number 1. */
export type TrustedRoot = { number: number; keys: readonly NoteVerifier[] };

const keysMax = 16;

/**
 * The root that a root note makes of the one before. The note is signed (C2SP signed-note) over one line of JSON,
 * `{"root": number, "keys": ["name+hash+base64", …]}`, by a key of the root before and by every key that it adds: a
 * holder of the old keys alone, or the new ones alone, changes nothing. Throws NoteError.
 */
export function nextRoot(before: TrustedRoot, note: string): TrustedRoot {
  const { text, signers } = openNote(note, before.keys);
  const { root, keys: texts } = parsed(text);
  if (root !== before.number + 1) throw new NoteError(`root ${root} does not follow root ${before.number}`, text);
  const keys = texts.map(verifierOf);
  const isOld = (key: NoteVerifier) => before.keys.some((each) => each.text === key.text);
  const added = keys.filter((key) => !isOld(key));
  const signed = added.length === 0 ? signers : openNote(note, added).signers;
  const missing = added.find((key) => !signed.includes(key));
  if (missing) throw new NoteError(`the new key ${missing.name} did not sign it`, text);
  return { number: root, keys };
}

/**
 * The newest root that notes lead to, oldest first; those that are known already are passed over, and what follows a
 * bad one is ignored.
 */
export function followRoots(from: TrustedRoot, notes: readonly string[]): TrustedRoot {
  let at = from;
  for (const note of notes) {
    try {
      if (rootNumberOf(note) > at.number) at = nextRoot(at, note);
    } catch (error) {
      if (error instanceof NoteError) return at;
      throw error;
    }
  }
  return at;
}

/** The number that a root note claims, signed or not. Throws NoteError. */
export function rootNumberOf(note: string): number {
  return parsed(note.split("\n\n")[0] ?? "").root;
}

function parsed(text: string): { root: number; keys: string[] } {
  let json: unknown = null;
  try {
    json = JSON.parse(text);
  } catch {
    // Refused below, as any other text that is no root.
  }
  const { root, keys } = fieldsOf(json);
  const isNumber = typeof root === "number" && Number.isSafeInteger(root);
  if (!isNumber || !isTexts(keys) || keys.length === 0 || keys.length > keysMax) {
    throw new NoteError("not a root note", text);
  }
  return { root, keys };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");

function verifierOf(text: string): NoteVerifier {
  try {
    return parseVerifier(text);
  } catch (error) {
    throw new NoteError(messageOf(error), text);
  }
}
