import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("./packages/", import.meta.url));
const unit = fileURLToPath(new URL("../../gateway/installers/muster-agent.service", import.meta.url));

/**
 * Makes the folder of what a package installs: program, unit and command. Returns how its scripts are filled in.
 *
 * @param {{ root: string, version: string, program: string, release: { size: number, sha256: string, counter: number } }} options
 */
export function makePackageRoot({ root, version, program, release }) {
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
  const placing = readFileSync(join(here, "place.sh"), "utf8").trimEnd();
  const filled = (text) =>
    text
      .replace("@PLACE@", () => placing)
      .replaceAll("@VERSION@", version)
      .replaceAll("@DIGEST@", release.sha256.slice(0, 12));
  return { put, filled };
}

/** A tilde sorts before the release: 1.4.0~rc.1 is older than 1.4.0. */
export const packageVersion = (version) => version.replace("-", "~");
