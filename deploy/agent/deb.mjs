import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makePackageRoot, packageVersion } from "./package-root.mjs";

const here = fileURLToPath(new URL("./deb/", import.meta.url));

/**
 * Makes a Debian package of a program, `muster-agent_<version>_<arch>.deb`; the same program makes the same bytes.
 *
 * @param {{ version: string, arch: string, program: string, release: { size: number, sha256: string, counter: number }, folder: string, work: string }} options
 */
export function makeDeb({ version, arch, program, release, folder, work }) {
  const root = join(work, "deb");
  const { put, filled } = makePackageRoot({ root, version, program, release });
  for (const name of ["postinst", "prerm", "postrm"]) {
    put(`DEBIAN/${name}`, filled(readFileSync(join(here, name), "utf8")), 0o755);
  }
  const kibibytes = Math.ceil(statSync(program).size / 1024);
  const control = [
    "Package: muster-agent",
    `Version: ${packageVersion(version)}`,
    `Architecture: ${arch}`,
    "Maintainer: Muster <security@muster.example>",
    "Depends: libc6 (>= 2.28), passwd, util-linux",
    `Installed-Size: ${kibibytes}`,
    "Description: Agent of Muster, the control plane for fleets of managed devices",
  ];
  put("DEBIAN/control", `${control.join("\n")}\n`);
  const file = join(folder, `muster-agent_${version}_${arch}.deb`);
  const env = { ...process.env, SOURCE_DATE_EPOCH: "0" };
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "--build", root, file], { env, stdio: "pipe" });
  rmSync(root, { recursive: true, force: true });
}
