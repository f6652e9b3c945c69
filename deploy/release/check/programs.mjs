import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { fileSuffix, ownPlatform, platforms } from "../../program/platforms.mjs";
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

/** First bytes of a program, by system. */
const magic = { linux: /^7f454c46/, darwin: /^cffaedfe/, windows: /^4d5a/ };

/** The command line runs in an empty folder without Node; programs of other systems have their form. */
export function checkPrograms(release) {
  const program = ownProgram(release, release.work);
  if (program === null) return "the release has no programs";
  const { version } = release.release;
  const env = { PATH: "/nonexistent", HOME: release.work };
  must(run(program, ["--version"], { cwd: release.work, env }).trim() === version, "the program has another version");
  const checked = run(program, ["keys", "check", "svc_abcdefghijklmnopqrstuvwxyzTCdQvQ"], { cwd: release.work, env });
  must(/well-formed/.test(checked), `keys check printed ${checked}`);
  for (const platform of Object.values(platforms)) {
    const { os, arch } = platform;
    const name = `muster-${version}-${fileSuffix(platform)}.gz`;
    if (!release.files.includes(name)) continue;
    const bytes = gunzipSync(readFileSync(join(release.folder, name)));
    must(magic[os].test(bytes.toString("hex", 0, 4)), `${name} is no program of ${os}`);
    if (os === "linux") must(bytes.readUInt16LE(18) === machines[arch], `${name} is of another machine`);
  }
  release.say(`${version} runs without Node on PATH; the others are programs of their systems`);
}

/** `e_machine` of ELF. */
export const machines = { amd64: 62, arm64: 183 };
