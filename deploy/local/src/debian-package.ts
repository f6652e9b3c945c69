import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onPath } from "./path.ts";

const downloadMs = 120_000;

/**
 * Unpacks Debian packages into `<work>/unpacked` without installing them, which would start their servers. Throws an
 * Error that names the failed step.
 */
export function unpackDebian(work: string, packages: readonly string[]): string {
  if (onPath("apt-get", process.env.PATH ?? "").length === 0) throw new Error("no apt-get on this system");
  const unboxed = process.getuid?.() === 0 ? ["-o", "APT::Sandbox::User=root"] : [];
  const download = spawnSync("apt-get", [...unboxed, "download", ...packages], { cwd: work, timeout: downloadMs });
  if (download.status !== 0) {
    // Separate package lists: a plain user cannot refresh the system's.
    const lists = join(work, "lists");
    mkdirSync(join(lists, "partial"), { recursive: true });
    const own = [...unboxed, "-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${work}`];
    must("apt-get", [...own, "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20", "update"]);
    must("apt-get", [...own, "download", ...packages], work);
  }
  for (const name of packages) must("sh", ["-c", `dpkg-deb -x ${name}_*.deb unpacked`], work);
  return join(work, "unpacked");
}

export function must(program: string, args: string[], cwd?: string): void {
  const result = spawnSync(program, args, { encoding: "utf8", timeout: downloadMs, ...(cwd ? { cwd } : {}) });
  if (result.status === 0) return;
  const said = (result.error?.message ?? `${result.stderr}${result.stdout}`).trim().split("\n").slice(-3).join("; ");
  throw new Error(`${program} ${args.filter((arg) => !arg.startsWith("-")).at(-1) ?? ""}: ${said}`);
}
