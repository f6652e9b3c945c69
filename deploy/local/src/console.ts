import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./config.ts";

const script = join(root, "deploy", "local", "build-console.mjs");

/**
 * Builds the console where its sources changed; a package has it built. Resolves with null, or with what went wrong:
 * the cluster starts without a console rather than not at all. Never rejects.
 */
export function buildConsole(signal: AbortSignal): Promise<string | null> {
  if (!existsSync(script)) return Promise.resolve(null);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script], {
      signal,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = `${said}${text}`.slice(-4_000);
      });
    }
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) => resolve(code === 0 ? null : said.trim() || `it ended with status ${code}`));
  });
}
