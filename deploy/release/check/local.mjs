import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { followPage, readerOf } from "./reader.mjs";
import { startRegistry } from "./registry.mjs";
import { bareEnv, emptyFolder, must, run } from "./tools.mjs";
import { signsIn } from "./use-cluster.mjs";

const startMs = 300_000;
const docs = fileURLToPath(new URL("../../../docs/", import.meta.url));

/**
 * `npx SCOPE/cli local`, as a newcomer types it: the packages come from a registry, the cluster starts, the program of
 * the command line signs in, a device comes online, and, after a start with a folder of releases, is offered one.
 */
export async function checkLocal(release) {
  const { folder, files, say } = release;
  const { scope, version } = release.release;
  const tarballs = files.filter((name) => name.startsWith(`${scope.slice(1)}-`) && name.endsWith(".tgz"));
  if (!tarballs.some((name) => name.includes("-server-"))) return "the release has no package of the server";
  // PostgreSQL's user must be able to enter it.
  const work = mkdtempSync(join(tmpdir(), "muster-"));
  run("chmod", ["711", work]);
  const registry = await startRegistry(folder, tarballs);
  const home = emptyFolder(join(work, "home"));
  writeFileSync(join(home, ".npmrc"), `${scope}:registry=${registry.url}\n`);
  const port = await freePort();
  const program = `npx --yes ${scope}/cli@${version}`;
  const start = (before = "") =>
    startCluster(`${before} ${program} local --yes --data ${join(work, "muster")} --port ${port}`, home);
  let cluster;
  try {
    cluster = await start();
    say(/Muster is ready after [\d.]+ s/.exec(cluster.output())[0]);
    const password = /Password +(\S+)/.exec(cluster.output())[1];
    const url = `http://localhost:${port}`;
    await signsIn(release, { url, password, work });
    const pageOf = (name) => readFileSync(join(docs, name), "utf8").replaceAll("http://localhost:3000", url);
    const reader = readerOf({ program, password, env: bareEnv(home, { MUSTER_URL: url }), cwd: home });
    const outputs = await followPage(reader, pageOf("first-steps.md"));
    must(/\bfirst .*\blinux .*online/.test(outputs.join("\n")), `the first device is not online: ${outputs}`);
    must(/It runs/.test(outputs.at(-1)), `the first device's log is not there: ${outputs.at(-1)}`);
    say(`first-steps.md, command by command: ${outputs.length} commands, the first device online, its log`);
    const restart = async (typed) => {
      await cluster.stop();
      cluster = await start(typed.replace(/ npx \S+\/cli local$/, ""));
    };
    const [device, ...before] = (await followPage(reader, pageOf("agent-releases.md"), restart)).reverse();
    must(/1\.1\.0/.test(device), `the device does not run the release: ${device} ${before}`);
    say("agent-releases.md: a signed release was registered, and offered to the device");
  } finally {
    await cluster?.stop();
    registry.stop();
    rmSync(work, { recursive: true, force: true });
  }
  must(/Stopping/.test(cluster.output()), `the cluster did not stop in order: ${cluster.output()}`);
  say("stopped in order");
}

/** Starts a cluster by what is typed at a prompt, in a group of its own, which Ctrl-C reaches as a whole. */
async function startCluster(typed, home) {
  const stdio = ["ignore", "pipe", "pipe"];
  const child = spawn("sh", ["-c", `exec ${typed}`], { cwd: home, env: bareEnv(home), stdio, detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  let hasEnded = false;
  child.once("exit", () => {
    hasEnded = true;
  });
  const stop = async () => {
    signalGroup(child.pid, "SIGINT");
    for (let tries = 0; tries < 150 && signalGroup(child.pid, 0); tries++) await delay(200);
    signalGroup(child.pid, "SIGKILL");
  };
  const deadline = Date.now() + startMs;
  while (!/Muster is ready/.test(output)) {
    if (hasEnded || Date.now() > deadline) {
      await stop();
      throw new Error(`the cluster did not start: ${output}`);
    }
    await delay(200);
  }
  return { output: () => output, stop };
}

/** Whether a process of the group is left. */
function signalGroup(pid, signal) {
  try {
    return process.kill(-pid, signal);
  } catch (error) {
    if (error.code === "ESRCH") return false;
    throw error;
  }
}

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}
