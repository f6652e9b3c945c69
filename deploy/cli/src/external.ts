import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { auditProgram } from "./offline/audit.ts";
import { keyProgram } from "./offline/key.ts";
import { releaseProgram } from "./offline/release.ts";

/** Programs that parse their own arguments and work without a server; each resolves to its exit code. */
const programs = { audit: auditProgram, key: keyProgram, release: releaseProgram, cluster: clusterProgram };

/** Runs another program with the input and output of this process; resolves to its exit code. */
export function runProgram(name: keyof typeof programs, args: readonly string[]): Promise<number> {
  return programs[name](args);
}

const local = new URL("../../local/muster.mjs", import.meta.url);

/** Creates a cluster's keys and re-encrypts its secrets, with the code of a checkout. */
async function clusterProgram(args: readonly string[]): Promise<number> {
  if (local.protocol !== "file:" || !existsSync(local)) {
    process.stderr.write("muster: `cluster` needs a checkout of Muster\n");
    return 2;
  }
  const child = spawn(process.execPath, [fileURLToPath(local), ...args], { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
