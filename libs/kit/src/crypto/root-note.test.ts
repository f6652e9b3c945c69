import { describe, expect, it } from "@jest/globals";
import { followRoots, nextRoot, type TrustedRoot } from "./root-note.ts";
import { generateNoteKey, type NoteSigner, noteKeys, signNote } from "./signed-note.ts";

const key = (name: string) => noteKeys(generateNoteKey(name)).signer;
const [old, next, later] = [key("old"), key("next"), key("later")];
const first: TrustedRoot = { number: 1, keys: [old] };

/** A root note that all of these signed. */
function rootNote(root: number, keys: readonly NoteSigner[], signers: readonly NoteSigner[]): string {
  const line = `${JSON.stringify({ root, keys: keys.map(({ text }) => text) })}\n`;
  const signatures = signers.map((signer) => signNote(line, signer).split("\n\n")[1]);
  return `${line}\n${signatures.join("")}`;
}

describe("a root note", () => {
  it("signed by an old key and each new one exchanges the keys, step by step", () => {
    const notes = [rootNote(2, [next], [old, next]), rootNote(3, [next, later], [next, later])];
    expect(nextRoot(first, notes[0] as string)).toMatchObject({ number: 2, keys: [{ text: next.text }] });
    expect(followRoots(first, notes)).toMatchObject({ number: 3, keys: [{ text: next.text }, { text: later.text }] });
    expect(followRoots({ number: 2, keys: [next] }, notes).number).toBe(3);
  });

  it("may remove a key with the signature of a remaining or former one", () => {
    expect(nextRoot({ number: 1, keys: [old, next] }, rootNote(2, [next], [next])).keys).toMatchObject([
      { text: next.text },
    ]);
  });

  it.each<[string, string]>([
    ["is signed by new keys alone", rootNote(2, [next], [next])],
    ["is signed by old keys alone", rootNote(2, [next], [old])],
    ["lacks the signature of one new key", rootNote(2, [next, later], [old, next])],
    ["skips a number", rootNote(3, [next], [old, next])],
    ["goes back", rootNote(1, [next], [old, next])],
    ["was changed", rootNote(2, [next], [old, next]).replace('"root":2', '"root": 2')],
    ["names no key", rootNote(2, [], [old])],
    ["is not JSON", signNote("hello\n", old)],
  ])("changes nothing when it %s", (_name, note) => {
    expect(() => nextRoot(first, note)).toThrow(expect.objectContaining({ name: "NoteError" }));
    expect(followRoots(first, [note])).toBe(first);
  });

  it("leads no further than the first one that does not hold", () => {
    const notes = [rootNote(2, [next], [old]), rootNote(2, [next], [old, next])];
    expect(followRoots(first, notes)).toBe(first);
  });

  it("does not bring a removed key back when it is an earlier one", () => {
    const [second, third] = [rootNote(2, [old, next], [old, next]), rootNote(3, [next], [next])];
    const now = followRoots(first, [second, third]);
    expect(now).toMatchObject({ number: 3, keys: [{ text: next.text }] });
    expect(followRoots(now, [second])).toBe(now);
  });
});
