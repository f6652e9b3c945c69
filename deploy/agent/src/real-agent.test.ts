import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
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
  return ran("sh", ["-c", line], { MUSTER_AGENT_PROOF_SECONDS: "4", MUSTER_AGENT_STEADY_SECONDS: "5", ...env });
}

function ran(program: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(program, args, { env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr });
    });
  });
}

const install = (args = "", env = {}) =>
  sh(`--root-key '${signer.text}' ${args}`, { MUSTER_ENROLLMENT_KEY: key, ...env });
const agent = (...args: string[]) => ran(join(prefix, "current", "muster-agent"), args);
const inState = (name: string) => join(prefix, "state", name);
const identity = () => JSON.parse(readFileSync(inState("identity.json"), "utf8")) as AgentIdentity;
const versions = () => readdirSync(join(prefix, "versions")).map((name) => name.replace(/-[0-9a-f]{12}$/, ""));
/** Bytes of the download that is not proved yet. */
function partBytes(): number {
  const [name = ""] = readdirSync(join(prefix, "versions")).filter((each) => each.endsWith(".unverified"));
  return statSync(join(prefix, "versions", name, "part"), { throwIfNoEntry: false })?.size ?? 0;
}
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

  it("gives its key to no program as an argument: every user of a machine can read those", async () => {
    const [tools, seen] = [join(folder, "tools"), join(folder, "seen")];
    mkdirSync(tools);
    const names =
      "cat chmod cp curl cut dirname find getconf grep gunzip head id ln mkdir mktemp mv rm sed sha256sum sleep stat sync tr uname wc";
    for (const name of names.split(" ")) {
      const shim = `#!/bin/sh\nPATH=\${PATH#*:}\necho "${name} $*" >>'${seen}'\nexec ${name} "$@"\n`;
      writeFileSync(join(tools, name), shim, { mode: 0o755 });
    }
    const file = join(folder, "key");
    // Another suite may run beside this one.
    const own = randomBytes(32).toString("hex");
    writeFileSync(file, own, { mode: 0o600 });
    const PATH = `${tools}:${process.env.PATH}`;
    expect((await sh(`--root-key '${signer.text}' --key-file ${file}`, { PATH })).code).toBe(0);
    expect(platform.enrollments).toMatchObject([{ enrollmentKey: own }]);
    const lines = readFileSync(seen, "utf8");
    expect(lines.split("\n").length).toBeGreaterThan(50);
    // What else this machine writes is not waited for.
    expect(lines).toMatch(/^sync versions\S+\/muster-agent \S+\/release\.json /m);
    expect(lines).not.toContain(own);
    expect((await ran("ps", ["-eo", "args"])).output).not.toContain(own);
    for (const name of readdirSync(join(prefix, "state")).filter((each) => each.endsWith(".log"))) {
      expect(readFileSync(inState(name), "utf8")).not.toContain(own);
    }
    expect(existsSync(file)).toBe(false);
  });

  it.each<[string, string, number, string]>([
    ["musl", "musl libc (x86_64)", 0, "1.0.0-musl is online"],
    ["neither glibc nor musl", "uClibc 1.0", 1, "neither glibc nor musl"],
  ])("takes the program of the system's C library: %s", async (_name, said, expected, message) => {
    const tools = join(folder, "tools");
    mkdirSync(tools);
    for (const name of ["getconf", "ldd"]) {
      writeFileSync(join(tools, name), `#!/bin/sh\necho "${said}" >&2\nexit 1\n`, { mode: 0o755 });
    }
    const musl = publish("1.0.0-musl", scriptOf("1.0.0-musl"), signer, {}, { libc: "musl" });
    platform.promoted = musl;
    const { code, output } = await install("", { PATH: `${tools}:${process.env.PATH}` });
    expect([code, output]).toEqual([expected, expect.stringContaining(message)]);
    expect(platform.downloads.every(({ url }) => url?.includes("libc=musl"))).toBe(true);
  });

  it("says what to do about a refused key, and a new key ends the wait", async () => {
    platform.answer = (path) =>
      path.endsWith("/enroll") ? { status: 401, body: { code: "enrollment_key_exhausted" } } : null;
    const installing = install();
    const line = "the enrollment key was used up: run `muster-agent enroll` with a new key";
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
    await until("its end", () => identity().counters?.agent === 5 && !existsSync(inState("update.json")), 60_000);
    await updated(publish("1.2.0", scriptOf("1.2.0"), signer, { counter: 6 }));
    await until("its end", () => identity().counters?.agent === 6, 60_000);
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
      response.write(file.subarray(from, from + 50));
      // What was not read yet goes with the connection.
      void until("the bytes on the disk", () => partBytes() > from).then(() => request.socket.destroy());
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

it("a clock ten years ahead is reported, and manifests expire by the platform's", async () => {
  const shim = join(folder, "clock.mjs");
  const aheadMs = 10 * 365 * 86_400_000;
  writeFileSync(
    shim,
    `const real = Date;
     globalThis.Date = class extends real {
       constructor(...args) { super(...(args.length > 0 ? args : [real.now() + ${aheadMs}])); }
       static now() { return real.now() + ${aheadMs}; }
     };`,
  );
  expect((await install("", { NODE_OPTIONS: `--import=${shim}` })).code).toBe(0);
  await until("its line", () => platform.logs.some((line) => /clock of this machine is 31536\d{4} s ahead/.test(line)));
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  platform.offered = publish("1.1.0", scriptOf("1.1.0"), signer, { expires: at(-1) });
  expect((await reported("failed")).update?.error).toBe("expired");
  await updated(publish("1.2.0", scriptOf("1.2.0"), signer, { expires: at(60) }));
  expect((await agent("status")).output).toMatch(/^clock +31536\d{4} s off/m);
});

it("enroll says why a new key is refused, by the code of the key, and takes the next one from its file alone", async () => {
  expect((await install()).code).toBe(0);
  const file = join(folder, "key");
  const enroll = () => {
    writeFileSync(file, key);
    return agent("enroll", "--key-file", file);
  };
  platform.answer = (path) =>
    path.endsWith("/enroll") ? { status: 401, body: { code: "enrollment_key_expired" } } : null;
  expect(await enroll()).toEqual({ code: 5, output: expect.stringContaining("the enrollment key has expired") });
  platform.answer = () => null;
  expect(await enroll()).toEqual({ code: 0, output: "online\n" });
  // The refused key may have been tried again meanwhile.
  expect([platform.enrollments.length >= 2, existsSync(file)]).toEqual([true, false]);
  expect(await agent("enroll", "--key-file", file)).toMatchObject({
    code: 2,
    output: expect.stringContaining("ENOENT"),
  });
  writeFileSync(file, "no key");
  expect(await agent("enroll", "--key-file", file)).toMatchObject({ code: 5 });
  expect(identity().token).toBe("agt_secret-of-the-device");
});

it("logs shows the end of its own log, and follows it over a rotation", async () => {
  expect((await install()).code).toBe(0);
  const { code, output } = await agent("logs");
  expect([code, output]).toEqual([0, expect.stringContaining("info agent: online")]);
  const child = spawn(join(prefix, "current", "muster-agent"), ["logs", "-f"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let shown = "";
  child.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  await until("the log", () => shown.includes("online"));
  appendFileSync(inState("agent.log"), "a line that is new\n");
  await until("the line", () => shown.includes("a line that is new"));
  renameSync(inState("agent.log"), inState("agent.log.1"));
  writeFileSync(inState("agent.log"), "the first line of another file\n");
  await until("the next file", () => shown.includes("the first line of another file"));
  child.kill("SIGTERM");
  expect(await new Promise((resolve) => child.on("exit", resolve))).toBe(0);
  expect(shown.match(/a line that is new/g)).toHaveLength(1);
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
