import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const programs = {
  /** Programs that work without a server; compiled, `key` and `release` also run from a copy of their one file. */
  audit: "../dist/muster-audit.js",
  key: "../dist/muster-key.js",
  release: "../dist/muster-release.js",
  /** Works only in a checkout: creates a cluster's keys and re-encrypts its secrets. */
  cluster: "../../local/muster.mjs",
} as const;

/** Runs another program with the input and output of this process; resolves to its exit code. */
export function runProgram(name: keyof typeof programs, args: readonly string[]): Promise<number> {
  const file = fileURLToPath(new URL(programs[name], import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
