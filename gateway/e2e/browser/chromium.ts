import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Chromium without windows: a page takes two thirds of the processor time. */
const shell = "chromium-headless-shell";
const names = [shell, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const fetchMs = 600_000;

export type FoundBrowser = { path: string } | { missing: string };

/**
 * The Chromium to test with: CHROMIUM_BIN, one on the PATH, else Debian's package where apt may install it (root on
 * Debian or Ubuntu: its hundred libraries cannot be had without the package manager). `missing` is the reason when
 * there is none.
 */
export function findChromium(): FoundBrowser {
  const named = process.env.CHROMIUM_BIN;
  if (named)
    return existsSync(named) ? { path: named } : { missing: `CHROMIUM_BIN names ${named}, which is not there` };
  const found = onPath();
  if (found) return { path: found };
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) {
    return { missing: "no Chromium on the PATH: install it, or set CHROMIUM_BIN" };
  }
  // Other suites may be installing at the same time: apt waits for its lock.
  const options = ["-qq", "-y", "-o", "DPkg::Lock::Timeout=300"];
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]) =>
    spawnSync("apt-get", [...options, ...args], { env, timeout: fetchMs, encoding: "utf8" });
  apt("update");
  let reason = "";
  // Older releases have no package of the shell.
  for (const name of [shell, "chromium"]) {
    const { stderr, error } = apt("install", "--no-install-recommends", name);
    const installed = onPath();
    if (installed) return { path: installed };
    reason = error?.message ?? stderr.trim().slice(-300);
  }
  return { missing: `apt-get could not install chromium: ${reason}` };
}

function onPath(): string | null {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of names) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // No such program in this folder.
      }
    }
  }
  return null;
}
