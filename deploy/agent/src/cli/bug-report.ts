import { readFileSync } from "node:fs";
import { version as osVersion, release } from "node:os";
import type { AgentIdentity } from "@muster/agent";
import { messageOf } from "@muster/kit/agent";
import { versionLine } from "../build-info.ts";
import { readConfig } from "../config.ts";
import { linkTarget, readStored } from "../durable.ts";
import { exitCodes } from "../exit-codes.ts";
import { readUpdate } from "../install/update-state.ts";
import { pathsOf } from "../paths.ts";
import { examine } from "./doctor.ts";

const linesMax = 500;

/** Removes what is secret: tokens, keys, credentials of URLs, ids of the machine. */
export function redacted(text: string): string {
  return text
    .replaceAll(/\bagt_[\w-]+/g, "agt_***")
    .replaceAll(/\b[0-9a-f]{64}\b/gi, "***")
    .replaceAll(/\/\/[^@/\s"]*@/g, "//***@")
    .replaceAll(/("?(?:token|oldToken|hardwareId|serialNumber|authorization)"?\s*[:=]\s*)"?[^",}\s]+"?/gi, '$1"***"');
}

/** Prints what a developer needs to look for an error, without secrets. */
export async function bugReport(file: string): Promise<number> {
  const parts: [string, unknown][] = [
    ["program", versionLine()],
    ["system", `${process.platform} ${release()} ${osVersion()}`],
  ];
  parts.push(["doctor", await examine(file)]);
  try {
    const config = readConfig(file);
    const paths = pathsOf(config);
    const links = Object.entries(paths.links).map(([name, { current, previous }]) => {
      return [name, linkTarget(current), linkTarget(previous)];
    });
    parts.push(["config", config], ["identity", readStored<AgentIdentity>(paths.identity)]);
    parts.push(["status", readStored(paths.status)], ["update", readUpdate(paths)], ["links", links]);
    parts.push(["log", readFileSync(paths.log, "utf8").split("\n").slice(-linesMax)]);
  } catch (error) {
    parts.push(["error", messageOf(error)]);
  }
  process.stdout.write(`${redacted(JSON.stringify(Object.fromEntries(parts), null, 2))}\n`);
  return exitCodes.ok;
}
