import { readFileSync, statSync } from "node:fs";
import type { Stopping } from "@muster/agent";
import type { Config } from "../config.ts";
import { AgentError, exitCodes } from "../exit-codes.ts";
import { pathsOf } from "../paths.ts";

const linesShown = 200;
const pollMs = 500;

/** Prints the end of the agent's own log; with `-f` what is added, until it is stopped. */
export async function logs(config: Config, args: readonly string[], stopping: Stopping): Promise<number> {
  const { log } = pathsOf(config);
  let text = textOf(log);
  if (text === null) throw new AgentError(exitCodes.failed, `${log} is not there, or not readable for this user`);
  process.stdout.write(
    text
      .split("\n")
      .slice(-linesShown - 1)
      .join("\n"),
  );
  if (!args.includes("-f")) return exitCodes.ok;
  while (!stopping.stopped) {
    await stopping.pause(pollMs);
    if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === Buffer.byteLength(text)) continue;
    const now = textOf(log) ?? "";
    // A file that begins anew was rotated.
    process.stdout.write(now.startsWith(text) ? now.slice(text.length) : now);
    text = now;
  }
  return exitCodes.ok;
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
