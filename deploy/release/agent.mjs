import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileSuffix, platforms } from "../program/platforms.mjs";
import { cache } from "./cache.mjs";

/**
 * Writes the agent and its watchdog for each platform, with Debian packages and manifests, into the folder `agent`:
 * what `RELEASE_SOURCE` or `sync-directory` of a deployment reads. The manifests' counter is the commit's time.
 */
export async function makeAgent({ tree, work, out, version, epoch, agentRootKey, notMade }) {
  // Its Nodes are those of the other programs.
  const own = join(tree, "node_modules", ".cache");
  mkdirSync(own, { recursive: true });
  mkdirSync(cache, { recursive: true });
  if (!existsSync(join(own, "muster-agent"))) symlinkSync(cache, join(own, "muster-agent"));
  const args = ["--version", version, "--counter", String(epoch), "--deb", "--out", join(work, "agent")];
  const all = Object.keys(platforms).flatMap((name) => ["--platform", name]);
  const keys = agentRootKey.flatMap((key) => ["--root-key", key]);
  const script = join(tree, "deploy", "agent", "build.mjs");
  execFileSync(process.execPath, [script, ...args, ...all, ...keys], {
    cwd: tree,
    stdio: ["ignore", "ignore", "inherit"],
  });
  renameSync(join(work, "agent", version), join(out, "agent"));
  for (const [name, platform] of Object.entries(platforms)) {
    const file = `muster-agent-${fileSuffix(platform)}.gz`;
    if (!existsSync(join(out, "agent", file)))
      notMade.push({ part: `agent ${name}`, reason: "this machine cannot sign it" });
  }
  if (agentRootKey.length === 0)
    notMade.push({ part: "agent's root key", reason: "no --agent-root-key: programs with a development key" });
  if (!process.env.RELEASE_SIGNING_KEY)
    notMade.push({ part: "signature of the agent's manifests", reason: "no RELEASE_SIGNING_KEY" });
}
