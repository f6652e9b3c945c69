import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("./deb/", import.meta.url));
const unit = fileURLToPath(new URL("../../gateway/installers/muster-agent.service", import.meta.url));

/**
 * Makes a Debian package of a program, `muster-agent_<version>_<arch>.deb`; the same program makes the same bytes.
 *
 * @param {{ version: string, arch: string, program: string, release: { size: number, sha256: string, counter: number }, folder: string, work: string }} options
 */
export function makeDeb({ version, arch, program, release, folder, work }) {
  const root = join(work, "deb");
  rmSync(root, { recursive: true, force: true });
  const put = (path, text, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), mode);
  };
  mkdirSync(join(root, "usr/lib/muster-agent"), { recursive: true });
  copyFileSync(program, join(root, "usr/lib/muster-agent/muster-agent"));
  chmodSync(join(root, "usr/lib/muster-agent/muster-agent"), 0o755);
  put("usr/lib/muster-agent/release.json", JSON.stringify({ version, ...release, component: "agent" }));
  put("usr/lib/systemd/system/muster-agent.service", readFileSync(unit));
  put("usr/bin/muster-agent", readFileSync(join(here, "muster-agent")), 0o755);
  mkdirSync(join(root, "etc/muster-agent"), { recursive: true });
  const filled = (name) =>
    readFileSync(join(here, name), "utf8")
      .replaceAll("@VERSION@", version)
      .replaceAll("@DIGEST@", release.sha256.slice(0, 12));
  for (const name of ["postinst", "prerm", "postrm"]) put(`DEBIAN/${name}`, filled(name), 0o755);
  const kibibytes = Math.ceil(statSync(program).size / 1024);
  const control = [
    "Package: muster-agent",
    // A tilde sorts before the release: 1.4.0~rc.1 is older than 1.4.0.
    `Version: ${version.replace("-", "~")}`,
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
