import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { followFirstSteps } from "./first-steps.mjs";
import { startRegistry } from "./registry.mjs";
import { bareEnv, emptyFolder, must, run } from "./tools.mjs";
import { signsIn } from "./use-cluster.mjs";

const startMs = 300_000;
const firstSteps = fileURLToPath(new URL("../../../docs/first-steps.md", import.meta.url));

/**
 * `npx SCOPE/cli local`, as a newcomer types it: the packages come from a registry, the cluster starts, the program of
 * the command line signs in, and a device comes online.
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
  const args = [
    "--yes",
    `${scope}/cli@${version}`,
    "local",
    "--yes",
    "--data",
    join(work, "muster"),
    "--port",
    String(port),
  ];
  // A group of its own, which Ctrl-C reaches as a whole.
  const stdio = ["ignore", "pipe", "pipe"];
  const cluster = spawn("npx", args, { cwd: home, env: bareEnv(home), stdio, detached: true });
  let output = "";
  for (const stream of [cluster.stdout, cluster.stderr]) stream.on("data", (chunk) => (output += chunk));
  const ended = new Promise((end) => cluster.once("exit", end));
  try {
    await until(
      "the cluster",
      () => /Muster is ready/.test(output),
      () => output,
      ended,
    );
    say(/Muster is ready after [\d.]+ s/.exec(output)[0]);
    const password = /Password +(\S+)/.exec(output)[1];
    const url = `http://localhost:${port}`;
    await signsIn(release, { url, password, work });
    const page = readFileSync(firstSteps, "utf8").replaceAll("http://localhost:3000", url);
    const env = bareEnv(home, { MUSTER_URL: url });
    const program = `npx --yes ${scope}/cli@${version}`;
    const outputs = await followFirstSteps({ page, program, password, env, cwd: home });
    must(/\bfirst +linux .*online/.test(outputs.join("\n")), `the first device is not online: ${outputs}`);
    must(/It runs/.test(outputs.at(-1)), `the first device's log is not there: ${outputs.at(-1)}`);
    say(`first-steps.md, command by command: ${outputs.length} commands, the first device online, its log`);
  } finally {
    signalGroup(cluster.pid, "SIGINT");
    for (let tries = 0; tries < 150 && signalGroup(cluster.pid, 0); tries++) await delay(200);
    signalGroup(cluster.pid, "SIGKILL");
    registry.stop();
    rmSync(work, { recursive: true, force: true });
  }
  must(/Stopping/.test(output), `the cluster did not stop in order: ${output}`);
  say("stopped in order");
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

async function until(what, isDone, output, ended) {
  const deadline = Date.now() + startMs;
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  while (!isDone()) {
    must(!hasEnded && Date.now() < deadline, `${what} did not start: ${output()}`);
    await delay(200);
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
