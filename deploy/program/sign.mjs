import { spawnSync } from "node:child_process";

/** What signs a Mac program ad hoc: Apple's tool, or apple-codesign's (`cargo install apple-codesign`). */
const signers = [
  ["codesign", ["--force", "--sign", "-", "--identifier"]],
  ["rcodesign", ["sign", "--binary-identifier"]],
];

/** Whether a Mac program can be signed here: an arm64 Mac ends one without a valid signature. */
export function signMac(path, identifier) {
  return signers.some(([tool, args]) => spawnSync(tool, [...args, identifier, path], { stdio: "ignore" }).status === 0);
}

/**
 * A Windows program without its Authenticode signature, which would no longer hold: the certificate table is the last
 * part of the file (PE format, "The Attribute Certificate Table").
 *
 * @param {Buffer} program
 */
export function withoutAuthenticode(program) {
  const header = program.readUInt32LE(0x3c);
  const optional = header + 24;
  const is64 = program.readUInt16LE(optional) === 0x20b;
  const entry = optional + (is64 ? 112 : 96) + 4 * 8;
  const [at, size] = [program.readUInt32LE(entry), program.readUInt32LE(entry + 4)];
  if (size === 0) return program;
  if (at + size < program.length) throw new Error("the certificate table is not at the end");
  const bare = Buffer.from(program.subarray(0, at));
  bare.writeBigUInt64LE(0n, entry);
  // The checksum of the header is of the signed file; 0 is none.
  bare.writeUInt32LE(0, optional + 64);
  return bare;
}
