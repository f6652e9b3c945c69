import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys, signNote } from "@muster/kit";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import { admin, type Cluster, ownCluster } from "../support/cluster.ts";
import { newTenant } from "../support/enroller.ts";
import { prepareOperator } from "../support/operator.ts";

// The real agent from the pasted line on, beside a real platform. Its programs are scripts that start the compiled one
// as a version.

const { signer } = noteKeys(generateNoteKey("releases.example.test"));
const agentMain = fileURLToPath(new URL("../../../deploy/agent/dist/main.js", import.meta.url));
const cli = fileURLToPath(new URL("../../../deploy/cli/muster.mjs", import.meta.url));
const patienceMs = 120_000;

let folder: string;
let prefix: string;
let cluster: Cluster & { stop(): Promise<void> };
let root: Api;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "muster-walk-"));
  prefix = join(folder, "prefix");
  cluster = await ownCluster({
    HEARTBEAT_INTERVAL_SECONDS: "1",
    RELEASE_DIRECTORY: join(folder, "published"),
    RELEASE_MANIFEST_KEYS: signer.text,
    BINARY_SOURCE: "local",
    AGENT_AUTO_PROMOTE: "false",
    // A version that fails is offered again, until its rollout halts.
    UPDATE_BACK_OFF_SECONDS: "0",
  });
  root = api(cluster, (await prepareOperator(cluster, admin)).accessToken);
}, 240_000);
afterAll(async () => {
  await line("--uninstall");
  await cluster?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
}, 60_000);

type Ran = { code: number; output: string };

const ran = (program: string, args: string[], env: Record<string, string> = {}): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(program, args, { env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr });
    });
  });

/** Runs the line that console and documents show, with a prefix. */
const line = (args: string, env: Record<string, string> = {}) =>
  ran("sh", ["-c", `curl -fsSL ${cluster.url}/install.sh | sh -s -- --prefix ${prefix} --no-service ${args}`], {
    MUSTER_AGENT_PROOF_SECONDS: "10",
    MUSTER_AGENT_STEADY_SECONDS: "1",
    ...env,
  });

let counter = 0;
/** Publishes a version of the agent, which does `then` when it is run, and registers it. */
async function register(version: string, then = ""): Promise<void> {
  const program = Buffer.from(`#!/bin/sh
if [ "$1" = --version ]; then echo "muster-agent ${version} (test)"; exit; fi
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
export MUSTER_AGENT_DEV_VERSION=${version} MUSTER_AGENT_CONFIG="$root/config.json"
case $1 in run) ${then || ":"} ;; esac
exec '${process.execPath}' '${agentMain}' "$@"
`);
  const file = gzipSync(program);
  const measured = (bytes: Buffer) => ({
    size: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  });
  const name = "muster-agent-linux.gz";
  const of = { os: "linux", arch: process.arch === "arm64" ? "arm64" : "amd64", name, encoding: "gzip" };
  const artifacts = [{ ...of, ...measured(file), program: measured(program) }];
  const text = JSON.stringify({ version, component: "agent", counter: ++counter, artifacts });
  const at = join(folder, "published", version);
  await mkdir(at, { recursive: true });
  await writeFile(join(at, name), file);
  await writeFile(join(at, "agent.manifest"), signNote(`${text}\n`, signer));
  const { status, body } = await root.call("POST", `/agent-versions/sync-directory?version=${version}`);
  expect([status, body.version]).toEqual([200, version]);
}

/** Offers a version to all; an update has succeeded with its first heartbeat. Returns the path of the rollout. */
async function rollOut(version: string): Promise<string> {
  const wanted = { component: "agent", version, rings: [], percent: 100, soakSeconds: 0 };
  const { status, body } = await root.call("POST", "/agent-versions/rollouts", wanted);
  expect([status, body.version]).toEqual([201, version]);
  return `/agent-versions/rollouts/${body.id}`;
}

it(
  "a machine is online by the pasted line, sends its log, updates, goes back from a broken version, and is removed whole",
  async () => {
    await register("1.0.0");
    expect((await root.call("POST", "/agent-versions/promote", { version: "1.0.0" })).status).toBe(200);
    const { orgId, siteId } = await newTenant(root);
    const { body: key } = await root.call("POST", "/enrollment-keys", { orgId, siteId, name: "Key" });
    const startedMs = performance.now();
    const installed = await line(`--root-key '${signer.text}'`, { MUSTER_ENROLLMENT_KEY: String(key.key) });
    expect(installed).toEqual({ code: 0, output: expect.stringContaining("1.0.0 is online since") });
    // The limit of ten seconds is the bench's, on a machine of its own.
    expect(performance.now() - startedMs).toBeLessThan(30_000);
    const { data } = (await root.call("GET", `/devices?enrollmentKeyId=${key.id}`)).body as { data: { id: string }[] };
    const id = String(data[0]?.id);
    const device = async () => (await root.call("GET", `/devices/${id}`)).body;
    expect(await device()).toMatchObject({
      status: "online",
      agentVersion: "1.0.0",
      libc: expect.stringMatching(/^(gnu|musl)$/),
    });

    const log = join(folder, "syslog");
    await writeFile(log, "");
    const config = JSON.parse(await readFile(join(prefix, "config.json"), "utf8"));
    await writeFile(join(prefix, "config.json"), JSON.stringify({ ...config, eventLogs: { file: log } }));
    process.kill(Number((await readFile(join(prefix, "state", "agent.lock"), "utf8")).split(" ")[0]), "SIGTERM");
    const text = `a line for the page of the device ${Date.now()}`;
    const events = async () => {
      await appendFile(log, `Nov 26 12:00:00 host app[42]: ${text}\n`);
      const { body } = await root.call("GET", `/devices/${id}/eventlogs?limit=50`);
      return (body.data as { message: string }[] | undefined)?.some(({ message }) => message === text);
    };
    await until("the line on the device's page", events, patienceMs);

    const { body: reader } = await root.call("POST", "/api-keys", { orgId, name: "CLI", scopes: ["devices:read"] });
    const muster = (...args: string[]) =>
      ran(process.execPath, [cli, ...args], {
        MUSTER_URL: cluster.url,
        MUSTER_API_KEY: String(reader.key),
        MUSTER_CONFIG_DIR: join(folder, "cli"),
      });
    await register("1.1.0");
    await rollOut("1.1.0");
    const isRun = (version: string) => async () => (await device()).agentVersion === version;
    await until("the next version", isRun("1.1.0"), patienceMs);
    expect((await muster("get", "devices", id)).output).toContain("1.1.0");
    expect((await muster("devices", "decision", id)).output).toMatch(/^agent +1\.1\.0 +1\.1\.0 +up_to_date/m);
    await until("the end of the update", () => !existsSync(join(prefix, "state", "update.json")), patienceMs);

    await register("1.2.0", "exit 1");
    const path = await rollOut("1.2.0");
    const rollout = async () => (await root.call("GET", path)).body;
    await until("the halt of the rollout", async () => (await rollout()).state === "halted", patienceMs);
    expect(await rollout()).toMatchObject({ failed: 3 });
    await until("the version before", async () => (await device()).status === "online", patienceMs);
    expect(await device()).toMatchObject({ agentVersion: "1.1.0" });
    const why = (await muster("devices", "decision", id)).output;
    expect(why).toMatch(/^agent +1\.1\.0 +1\.2\.0 +halted/m);
    expect(why).toMatch(/^agent +1\.2\.0 +1\.1\.0 +failed +rolled_back/m);

    expect((await line("--uninstall")).code).toBe(0);
    expect(existsSync(prefix)).toBe(false);
    expect((await ran("ps", ["-eo", "args"])).output).not.toContain(prefix);
  },
  10 * 60_000,
);
