import { createHash } from "node:crypto";

const loadCommand = { signature: 0x1d };
const magic = { signature: 0xfade0cc0, codeDirectory: 0xfade0c02 };
/** Slots of code directories: the first, and alternatives with other digests. */
const isCodeDirectory = (slot) => slot === 0 || (slot >= 0x1000 && slot < 0x1005);
const digests = { 1: "sha1", 2: "sha256" };

/**
 * Compares a Mac program (64-bit Mach-O) with its embedded signature, page by page, as a Mac does before it runs them.
 * Returns the identifier that was signed. Throws where the program is not signed, or differs from what was.
 *
 * @param {Buffer} program
 */
export function signedIdentifier(program) {
  const [start, size] = signatureOf(program);
  if (start + size !== program.length) throw new Error("the signature is not at the program's end");
  const blob = program.subarray(start);
  if (blob.readUInt32BE(0) !== magic.signature) throw new Error("there is no signature where the program says");
  const slots = Array.from({ length: blob.readUInt32BE(8) }, (_, index) => 12 + 8 * index);
  const directories = slots.filter((at) => isCodeDirectory(blob.readUInt32BE(at)));
  const found = directories.map((at) => comparePages(program, start, blob.subarray(blob.readUInt32BE(at + 4))));
  if (!found.some(({ digest }) => digest === "sha256")) throw new Error("no page is signed by its SHA-256");
  return found[0].identifier;
}

/** Offset and size of the signature, by the program's load commands. */
function signatureOf(program) {
  for (let count = program.readUInt32LE(16), at = 32; count > 0; count -= 1, at += program.readUInt32LE(at + 4))
    if (program.readUInt32LE(at) === loadCommand.signature)
      return [program.readUInt32LE(at + 8), program.readUInt32LE(at + 12)];
  throw new Error("the program is not signed");
}

/** The digests of a code directory are those of the program's pages, all before the signature. */
function comparePages(program, end, directory) {
  if (directory.readUInt32BE(0) !== magic.codeDirectory) throw new Error("a code directory is none");
  const [first, identifier] = [directory.readUInt32BE(16), directory.readUInt32BE(20)];
  const digest = digests[directory[37]];
  if (directory.readUInt32BE(32) !== end) throw new Error("not all of the program is signed");
  const [length, page] = [directory[36], 1 << directory[39]];
  if (directory.readUInt32BE(28) !== Math.ceil(end / page)) throw new Error("pages of the program are not signed");
  for (let at = 0, slot = first; at < end; at += page, slot += length) {
    const actual = createHash(digest)
      .update(program.subarray(at, Math.min(at + page, end)))
      .digest();
    if (!actual.subarray(0, length).equals(directory.subarray(slot, slot + length)))
      throw new Error(`the page at byte ${at} is not as it was signed`);
  }
  return { digest, identifier: directory.toString("utf8", identifier, directory.indexOf(0, identifier)) };
}
