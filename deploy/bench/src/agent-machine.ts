import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const build = fileURLToPath(new URL("../../agent/build.mjs", import.meta.url));

/** Builds the agent's program of this system as these versions into a folder, as a release source has them. */
export function buildAgents(folder: string, versions: readonly string[]): void {
  for (const [n, version] of versions.entries()) {
    const args = ["--version", version, "--counter", String(n + 1), "--out", folder];
    execFileSync(process.execPath, [build, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  }
}

/** An agent that the pasted line installs into a folder, without a service manager. */
export type Machine = {
  /** Runs the line; milliseconds until it ends, which it does once the machine is online. */
  install(key: string): number;
  /** Writes the config and starts the agent anew. */
  configure(change: { eventLogs: object | string; heartbeatSeconds?: number }): void;
  /** Watchdog and agent. */
  processes(): number[];
  status(): { lastHeartbeatAt?: string; startedAt?: string; version?: string };
  /** Seconds between the last line of the version before and the first heartbeat of this one. */
  swapGap(version: string): number;
  /** Bytes of the installed versions. */
  bytesOnDisk(): number;
  uninstall(): void;
};

export function newMachine(prefix: string, url: string): Machine {
  const state = (name: string) => textIn(join(prefix, "state", name));
  const line = (args: string) =>
    `curl -fsSL ${url}/install.sh | sh -s -- --url ${url} --prefix ${prefix} --no-service ${args}`;
  const processes = () =>
    ["watchdog.lock", "agent.lock"].map((name) => Number(state(name).split(" ")[0])).filter((pid) => pid > 0);
  return {
    processes,
    install(key) {
      const startedMs = performance.now();
      const env = { ...process.env, MUSTER_ENROLLMENT_KEY: key };
      const { status } = spawnSync("sh", ["-c", line("")], { env, stdio: ["ignore", "ignore", "inherit"] });
      if (status !== 0) throw new Error(`the installer ended with ${status}`);
      return performance.now() - startedMs;
    },
    configure(change) {
      writeFileSync(join(prefix, "config.json"), JSON.stringify({ url, service: false, ...change }));
      process.kill(processes().at(-1) ?? 0, "SIGTERM");
    },
    status: () => JSON.parse(state("status.json") || "{}"),
    swapGap(version) {
      const lines = state("agent.log").split("\n");
      const at = (text: string) => Date.parse(lines.findLast((each) => each.includes(text))?.split(" ")[0] ?? "");
      return (at("info agent: online") - at(`agent ${version} is in place: restarting`)) / 1_000;
    },
    bytesOnDisk: () =>
      Number(execFileSync("du", ["-sk", join(prefix, "versions")], { encoding: "utf8" }).split("\t")[0]) * 1024,
    uninstall: () => void spawnSync("sh", ["-c", line("--uninstall")], { stdio: "ignore" }),
  };
}

/** Size of the file that an installer downloads. */
export const downloadBytes = (folder: string, version: string): number =>
  statSync(join(folder, version, `muster-agent-linux-${process.arch === "arm64" ? "arm64" : "amd64"}.gz`)).size;

function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // Not written yet.
  }
}
