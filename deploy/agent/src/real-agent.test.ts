import { execFile } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { AgentIdentity } from "@muster/agent";
import { generateNoteKey, noteKeys } from "@muster/kit";
import { until } from "@muster/testing";
import { holderOf } from "./folder-lock.ts";
import { type FakePlatform, type Published, publish, scriptOf, startFakePlatform } from "./testing/fake-platform.ts";

const [signer, other] = [noteKeys(generateNoteKey("releases")).signer, noteKeys(generateNoteKey("releases")).signer];
const key = "0f".repeat(32);

let folder: string;
let prefix: string;
let platform: FakePlatform;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-real-"));
  prefix = join(folder, "prefix");
  platform = await startFakePlatform();
  platform.promoted = publish("1.0.0", scriptOf("1.0.0"), signer);
});
afterEach(async () => {
  await sh("--uninstall");
  await platform.close();
  rmSync(folder, { recursive: true, force: true });
});

type Ran = { code: number; output: string };

/** Runs the installer as the documented line does. */
function sh(args: string, env: Record<string, string> = {}): Promise<Ran> {
  const line = `curl -fsSL ${platform.url}/install.sh | sh -s -- --prefix ${prefix} --no-service ${args}`;
  return ran("sh", ["-c", line], { MUSTER_AGENT_PROOF_SECONDS: "4", ...env });
}

function ran(program: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(program, args, { env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr });
    });
  });
}

const install = (args = "") => sh(`--root-key '${signer.text}' ${args}`, { MUSTER_ENROLLMENT_KEY: key });
const agent = (...args: string[]) => ran(join(prefix, "current", "muster-agent"), args);
const inState = (name: string) => join(prefix, "state", name);
const identity = () => JSON.parse(readFileSync(inState("identity.json"), "utf8")) as AgentIdentity;
const versions = () => readdirSync(join(prefix, "versions")).map((name) => name.replace(/-[0-9a-f]{12}$/, ""));
const reported = (state: string) =>
  until(`a report ${state}`, () => platform.heartbeats.find(({ update }) => update?.state === state), 60_000);
/** Offers a version, and waits for a heartbeat of it. */
async function updated(to: Published): Promise<void> {
  platform.offered = to;
  await until(`a heartbeat of ${to.version}`, () => platform.heartbeats.at(-1)?.agentVersion === to.version, 60_000);
}

describe("the pasted line", () => {
  it("brings a machine online with its logs, keeps its secrets, and removes everything", async () => {
    const log = join(folder, "syslog");
    writeFileSync(log, "");
    const { code, output } = await install();
    expect([code, output]).toEqual([0, expect.stringContaining("1.0.0 is online since")]);
    expect(platform.enrollments).toMatchObject([{ os: "linux", agentVersion: "1.0.0", enrollmentKey: key }]);
    for (const name of ["identity.json", "status.json", "machine.json"]) {
      expect((await ran("stat", ["-c", "%a", inState(name)])).output.trim()).toBe("600");
    }
    expect(existsSync(inState("enrollment.key"))).toBe(false);

    const config = JSON.parse(readFileSync(join(prefix, "config.json"), "utf8"));
    writeFileSync(join(prefix, "config.json"), JSON.stringify({ ...config, eventLogs: { file: log } }));
    process.kill(holderOf(inState("agent.lock"))?.pid ?? 0, "SIGTERM");
    await until("its restart", () => platform.logs.filter((each) => each === "online").length === 2);
    appendFileSync(log, "Nov 26 12:00:00 host sshd[42]: Failed password for root\n");
    await until("the line", () => platform.events.includes("Failed password for root"));

    const report = await agent("bug-report");
    expect(report.output).not.toContain("agt_secret");
    expect(report.output).not.toContain(identity().hardwareId);
    expect((await agent("status")).output).toMatch(/^state +online since/);
    expect((await sh("--uninstall")).code).toBe(0);
    expect(existsSync(prefix)).toBe(false);
    expect(holderOf(inState("agent.lock"))).toBeNull();
  });

  const noRelease = (path: string) => (path.includes("/manifest") ? { status: 404, body: {} } : null);
  const otherFile: FakePlatform["serve"] = (_file, _request, response) => void response.end("x");
  it.each<[string, string, () => Partial<FakePlatform>]>([
    ["no release is promoted", "has no agent for", () => ({ answer: noRelease })],
    [
      "somebody else signed the program",
      "nobody whom it trusts signed it",
      () => ({ promoted: publish("1.0.0", scriptOf("1.0.0"), other) }),
    ],
    ["the file is another one", "another size", () => ({ serve: otherFile })],
    [
      "the manifest names a path as version",
      "the manifest has no agent",
      () => ({ promoted: publish("1.0.0/../../x", scriptOf("1.0.0"), signer) }),
    ],
  ])("installs nothing when %s", async (_name, message, change) => {
    Object.assign(platform, change());
    const { code, output } = await install();
    expect([code, output]).toEqual([1, expect.stringContaining(message)]);
    expect(existsSync(join(prefix, "current"))).toBe(false);
  });

  it("says what to do about a refused key, and a new key ends the wait", async () => {
    platform.answer = (path) =>
      path.endsWith("/enroll") ? { status: 401, body: { code: "enrollment_key_exhausted" } } : null;
    const installing = install();
    const line = "the enrollment key was used up: run `muster-agent enroll` with a new one";
    await until(
      "the line",
      () => existsSync(inState("agent.log")) && readFileSync(inState("agent.log"), "utf8").includes(line),
    );
    platform.answer = () => null;
    expect((await installing).code).toBe(0);
  });
});

describe("an update on a disk", () => {
  beforeEach(async () => {
    expect((await install()).code).toBe(0);
  });

  it("is downloaded, proved, swapped and kept, and the next one removes the oldest version", async () => {
    await updated(publish("1.1.0", scriptOf("1.1.0"), signer, { counter: 5 }));
    await until("its end", () => identity().counters?.agent === 5 && !existsSync(inState("update.json")));
    await updated(publish("1.2.0", scriptOf("1.2.0"), signer, { counter: 6 }));
    await until("its end", () => identity().counters?.agent === 6);
    // The watchdog runs the first one.
    expect(versions().sort()).toEqual(["1.0.0", "1.1.0", "1.2.0"]);
    expect(platform.enrollments).toHaveLength(1);
  });

  it.each<[string, string, string]>([
    ["ends at once", "exit 1", "ended 3 times"],
    ["hangs", "exec sleep 1000", "no heartbeat accepted"],
    ["ends a moment after its first heartbeat", '"$NODE" "$MAIN" "$@" & sleep 2; kill -9 $!; exit 9', "ended 3 times"],
  ])("to a version that %s is rolled back and reported", async (_name, then, error) => {
    platform.offered = publish("1.1.0", scriptOf("1.1.0", `case $1 in run) ${then} ;; esac`), signer);
    const report = await reported("rolled_back");
    expect(report).toMatchObject({
      agentVersion: "1.0.0",
      update: { version: "1.1.0", error: expect.stringContaining(error) },
    });
    await until("the end of the update", () => !existsSync(inState("update.json")));
  });

  it.each<[string, string, () => Published]>([
    ["signed by an outsider", "bad_signature", () => publish("1.1.0", scriptOf("1.1.0"), other)],
    ["that says another version", "wrong_component", () => publish("1.1.0", scriptOf("1.0.5"), signer)],
    ["that does not start", "does not start", () => publish("1.1.0", Buffer.from("#!/bin/sh\nexit 2\n"), signer)],
    ["for another system", "wrong_component", () => publish("1.1.0", scriptOf("1.1.0"), signer, { artifacts: [] })],
    ["with a path as version", "is no version", () => publish("../../x", scriptOf("../../x"), signer)],
  ])("%s is refused, and the running version stays", async (_name, error, published) => {
    platform.offered = published();
    expect((await reported("failed")).update?.error).toContain(error);
    expect(versions().filter((name) => !name.endsWith(".unverified"))).toEqual(["1.0.0"]);
    expect((await agent("status")).code).toBe(0);
  });

  it("is refused after its tries when it is cut, and continued by Range", async () => {
    platform.serve = (file, request, response) => {
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
      response.writeHead(from > 0 ? 206 : 200, { "content-length": file.length - from });
      response.write(file.subarray(from, from + 50), () => request.socket.destroy());
    };
    platform.offered = publish("1.1.0", scriptOf("1.1.0"), signer);
    expect((await reported("failed")).update?.error).toBe("download_failed");
    const ranges = platform.downloads.map(({ headers }) => headers.range ?? "");
    expect(ranges).toContainEqual(expect.stringMatching(/^bytes=\d+-$/));
  });

  it("for the watchdog lets the agent live on, and one that does not start is restored", async () => {
    const { pid } = holderOf(inState("agent.lock")) ?? {};
    platform.offered = publish("1.1.0", scriptOf("1.1.0"), signer, { component: "watchdog" });
    await until("its version", () => platform.heartbeats.at(-1)?.watchdogVersion === "1.1.0");
    expect(holderOf(inState("agent.lock"))?.pid).toBe(pid);
    expect(identity().counters?.watchdog).toBe(4);
  });

  it("leaves a token that works when agent and watchdog are killed in the middle of it", async () => {
    platform.offered = publish("1.1.0", scriptOf("1.1.0"), signer);
    await until("the download", () => platform.downloads.length > 1);
    for (const lock of ["watchdog.lock", "agent.lock"]) {
      const holder = holderOf(inState(lock));
      if (holder) process.kill(holder.pid, "SIGKILL");
    }
    const before = platform.heartbeats.length;
    await ran("sh", ["-c", `(${join(prefix, "watchdog", "muster-agent")} supervise </dev/null >/dev/null 2>&1 &)`]);
    await until("a heartbeat", () => platform.heartbeats.length > before);
    await until("the version", () => platform.heartbeats.at(-1)?.agentVersion === "1.1.0");
    expect(platform.enrollments).toHaveLength(1);
  });
});

it("a second agent of the same folder, and a config with a typo, end with one line and a code of their own", async () => {
  expect((await install()).code).toBe(0);
  const second = await agent("run");
  expect(second).toEqual({ code: 4, output: expect.stringContaining("An agent of this folder runs already") });
  const config = join(folder, "config.json");
  writeFileSync(config, '{"url": "https://a.example", "logLvl": "info"}');
  const typo = await ran(process.execPath, [join(import.meta.dirname, "../dist/main.js"), "run", "--config", config]);
  expect(typo).toEqual({
    code: 3,
    output: expect.stringMatching(/^muster-agent: .*"logLvl" is no setting, "logLevel" is one\n$/),
  });
});
