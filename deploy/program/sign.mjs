import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** The version of apple-codesign, a crate that signs Mac programs on any system. */
const version = "0.29.0";
const signArgs = ["sign", "--binary-identifier"];
/** Programs that sign ad hoc, with what stands before identifier and path: Apple's, and apple-codesign's. */
const signers = [
  ["codesign", ["--force", "--sign", "-", "--identifier"]],
  ["rcodesign", signArgs],
];

const succeeds = (program, args) => spawnSync(program, args, { stdio: "ignore" }).status === 0;

/**
 * Signs a Mac program ad hoc, since an arm64 Mac ends one without a valid signature. Without a program that signs,
 * `cargo` builds one, once into the cache; `warn` says so. Returns null, else what is missing here.
 */
export function signMac(path, { identifier, cache, warn }) {
  if (signers.some(([program, args]) => succeeds(program, [...args, identifier, path]))) return null;
  const built = builtSigner(cache, warn);
  if (built === null) return "none of codesign, rcodesign and cargo, which builds it, is here to sign it";
  return succeeds(built, [...signArgs, identifier, path]) ? null : "apple-codesign could not sign it";
}

/** The path of apple-codesign's program, built of the crate's own lock file; null without `cargo`. */
function builtSigner(cache, warn) {
  const root = join(cache, `apple-codesign-${version}`);
  const program = join(root, "bin", "rcodesign");
  if (existsSync(program)) return program;
  if (!succeeds("cargo", ["--version"])) return null;
  warn(`building apple-codesign ${version}, once, for some minutes`);
  const args = ["install", `apple-codesign@${version}`, "--locked", "--no-default-features", "--root", root];
  const { status, stderr } = spawnSync("cargo", args, { encoding: "utf8", maxBuffer: 64 << 20 });
  if (status !== 0) throw new Error(`cargo install apple-codesign: ${stderr.trim().split("\n").at(-1)}`);
  return program;
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
