import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { auditProgram } from "./offline/audit.ts";
import { keyProgram } from "./offline/key.ts";
import { releaseProgram } from "./offline/release.ts";
import { scope } from "./version.ts";

/** Programs that parse their own arguments and work without a server; each resolves to its exit code. */
const programs = { audit: auditProgram, key: keyProgram, release: releaseProgram, cluster: clusterProgram };

/** Runs another program with the input and output of this process; resolves to its exit code. */
export function runProgram(name: keyof typeof programs, args: readonly string[]): Promise<number> {
  return programs[name](args);
}

const local = new URL("../../local/muster.mjs", import.meta.url);
/** What the package of npm has of a checkout: the maker of keys. */
const packaged = new URL("../deploy/local/dist/cluster-keys.js", import.meta.url);
const isFile = (url: URL) => url.protocol === "file:" && existsSync(url);

/** Creates a cluster's keys, by the package or a checkout, and re-encrypts its secrets by the latter. */
async function clusterProgram(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === "keys" && isFile(packaged)) {
    const { keysProgram }: { keysProgram(args: string[]): number } = await import(packaged.href);
    return keysProgram(rest);
  }
  if (!isFile(local)) {
    const needed =
      name === "keys" ? `npm: npx ${scope ?? "@muster-fleet"}/cli cluster keys DIR` : "a checkout of Muster";
    process.stderr.write(`muster: \`cluster ${name ?? ""}\` needs ${needed}\n`);
    return 2;
  }
  const child = spawn(process.execPath, [fileURLToPath(local), ...args], { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
