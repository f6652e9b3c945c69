import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Command lines of living processes that name a file or folder. */
export function processesOf(path: string): string[] {
  return commands().filter((command) => command.includes(path));
}

function commands(): string[] {
  if (!existsSync("/proc/self/cmdline")) {
    return spawnSync("ps", ["-axww", "-o", "command="], { encoding: "utf8" }).stdout.split("\n");
  }
  return readdirSync("/proc").flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")] : [];
    } catch {
      // It ended meanwhile.
      return [];
    }
  });
}
