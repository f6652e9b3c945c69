import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ownProgram } from "./programs.mjs";
import { startRegistry } from "./registry.mjs";
import { bareEnv, emptyFolder, must, run } from "./tools.mjs";

const startMs = 300_000;

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
    await useCluster(release, { url: `http://localhost:${port}`, password, work });
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

async function useCluster(release, { url, password, work }) {
  const { version } = release.release;
  const api = clientOf(url);
  const { version: served } = await (await fetch(`${url}/health`)).json();
  must(served === version, `the gateway says that it is version ${served}`);
  must((await fetch(`${url}/`)).status === 200, "the console is not served");
  const program = ownProgram(release, join(work, "bin"));
  if (program !== null) {
    const env = { PATH: "/nonexistent", HOME: work, MUSTER_URL: url };
    run(program, ["login", "--email", "admin@muster.local"], {
      env,
      input: `${password}\n`,
      stdio: ["pipe", "pipe", "pipe"],
    });
    must(
      /partner|null|system/i.test(run(program, ["whoami", "--json"], { env })),
      "the program does not know who signed in",
    );
    release.say("the program signed in without Node on PATH");
  }
  const { accessToken } = await api("POST", "/auth/login", { email: "admin@muster.local", password });
  const { secret } = await api("POST", "/auth/mfa/totp/setup", { password }, accessToken);
  await api("POST", "/auth/mfa/totp/enable", { code: totp(secret) }, accessToken);
  const partner = await api("POST", "/orgs/partners", { name: "Check", slug: "check" }, accessToken);
  const organization = { partnerId: partner.id, name: "Check", slug: "check" };
  const { id: orgId } = await api("POST", "/orgs/organizations", organization, accessToken);
  const { key } = await api("POST", "/enrollment-keys", { orgId, name: "Check" }, accessToken);
  const device = { enrollmentKey: key, hostname: "check", os: "linux", arch: "amd64", agentVersion: "1.0.0" };
  const { deviceId, token } = await api("POST", "/agents/enroll", device);
  await api("POST", `/agents/${deviceId}/heartbeat`, { agentVersion: "1.0.0" }, token);
  const { data } = await api("GET", `/devices?status=online&orgId=${orgId}`, undefined, accessToken);
  must(data.length === 1 && data[0].hostname === "check", "the first device is not online");
  release.say("the first device is online");
}

/** A caller of the API. Throws with what it answered when it refuses. */
const clientOf = (url) => async (method, path, body, token) => {
  const headers = {
    ...(body ? { "content-type": "application/json" } : {}),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  const reply = await fetch(`${url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await reply.text();
  must(reply.ok, `${method} ${path}: ${reply.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
};

/** A code of RFC 6238, of a secret in base32. */
function totp(secret) {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac("sha1", key).update(counter).digest();
  return String((mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
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
