import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { fileSuffix, ownPlatform, platforms } from "../../program/platforms.mjs";
import { signedIdentifier } from "./mac-signature.mjs";
import { emptyFolder, must, run } from "./tools.mjs";

/** The program of this machine, unpacked into a folder. Null where the release has none. */
export function ownProgram({ folder, files, release }, to) {
  const { os, arch } = platforms[ownPlatform()];
  const name = `muster-${release.version}-${os}-${arch}.gz`;
  if (!files.includes(name)) return null;
  const path = join(emptyFolder(to), "muster");
  writeFileSync(path, gunzipSync(readFileSync(join(folder, name))));
  chmodSync(path, 0o755);
  return path;
}

/** The command line runs in an empty folder without Node; it and the agent have the form of each system. */
export function checkPrograms(release) {
  const program = ownProgram(release, release.work);
  if (program === null) return "the release has no programs";
  const { version } = release.release;
  const env = { PATH: "/nonexistent", HOME: release.work };
  must(run(program, ["--version"], { cwd: release.work, env }).trim() === version, "the program has another version");
  const checked = run(program, ["keys", "check", "svc_abcdefghijklmnopqrstuvwxyzTCdQvQ"], { cwd: release.work, env });
  must(/well-formed/.test(checked), `keys check printed ${checked}`);
  const found = Object.values(platforms).flatMap((platform) => [
    { path: `muster-${version}-${fileSuffix(platform)}.gz`, identifier: "com.muster.cli", ...platform },
    { path: `agent/muster-agent-${fileSuffix(platform)}.gz`, identifier: "com.muster.agent", ...platform },
  ]);
  const here = found.filter(({ path }) => existsSync(join(release.folder, path)));
  for (const { path, os, arch, identifier } of here)
    mustBeProgram(gunzipSync(readFileSync(join(release.folder, path))), { path, os, arch, identifier });
  release.say(`${version} runs without Node on PATH; ${here.length} programs have the form of their systems`);
}

/** The machine that a program is for, by its header: ELF's `e_machine`, Mach-O's CPU type, PE's machine. */
const machineOf = {
  linux: (bytes) => bytes.readUInt16LE(18),
  darwin: (bytes) => bytes.readUInt32LE(4),
  windows: (bytes) => bytes.readUInt16LE(bytes.readUInt32LE(0x3c) + 4),
};
const magic = { linux: /^7f454c46/, darwin: /^cffaedfe/, windows: /^4d5a/ };
/** ELF's, by architecture. */
export const machines = { amd64: 62, arm64: 183 };
const machinesOf = { linux: machines, darwin: { arm64: 0x0100000c }, windows: { amd64: 0x8664 } };

/** Throws where a program is of another system or machine, or a Mac's is not signed as it is. */
function mustBeProgram(bytes, { path, os, arch, identifier }) {
  must(magic[os].test(bytes.toString("hex", 0, 4)), `${path} is no program of ${os}`);
  must(machineOf[os](bytes) === machinesOf[os][arch], `${path} is of another machine`);
  if (os !== "darwin") return;
  const signed = signedIdentifier(bytes);
  must(signed === identifier, `${path} is signed as ${signed}`);
}
