import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makePackageRoot, packageVersion } from "./package-root.mjs";

const spec = fileURLToPath(new URL("./rpm/muster-agent.spec", import.meta.url));
const architectures = { amd64: "x86_64", arm64: "aarch64" };

/**
 * Makes an RPM package of a program, `muster-agent-<version>-1.<arch>.rpm`; the same program makes the same bytes.
 *
 * @param {{ version: string, arch: "amd64" | "arm64", program: string, release: { size: number, sha256: string, counter: number }, folder: string, work: string }} options
 */
export function makeRpm({ version, arch, program, release, folder, work }) {
  const top = join(work, "rpm");
  const root = join(top, "root");
  rmSync(top, { recursive: true, force: true });
  mkdirSync(top, { recursive: true });
  const { filled } = makePackageRoot({ root, version, program, release });
  const text = filled(readFileSync(spec, "utf8"))
    .replaceAll("@ROOT@", () => root)
    .replaceAll("@RPM_VERSION@", packageVersion(version));
  writeFileSync(join(top, "muster-agent.spec"), text);
  for (const entry of readdirSync(root, { recursive: true })) utimesSync(join(root, entry), 0, 0);
  const target = architectures[arch];
  const macros = {
    _topdir: top,
    _rpmfilename: "muster-agent.rpm",
    _buildhost: "muster",
    source_date_epoch_from_changelog: "0",
    use_source_date_epoch_as_buildtime: "1",
    clamp_mtime_to_source_date_epoch: "1",
  };
  const defined = Object.entries(macros).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
  const env = { ...process.env, SOURCE_DATE_EPOCH: "0" };
  execFileSync("rpmbuild", ["-bb", "--target", `${target}-linux`, ...defined, join(top, "muster-agent.spec")], {
    env,
    stdio: "pipe",
  });
  copyFileSync(
    join(top, "RPMS", "muster-agent.rpm"),
    join(folder, `muster-agent-${packageVersion(version)}-1.${target}.rpm`),
  );
  rmSync(top, { recursive: true, force: true });
}
