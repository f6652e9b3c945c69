import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { testCaFile, testCertificate, until } from "@muster/testing";
import { machineFacts } from "./hosts/machine-facts.ts";
import { type FakePlatform, startFakePlatform } from "./testing/fake-platform.ts";

const main = join(import.meta.dirname, "../dist/main.js");
const key = "0f".repeat(32);
/** Containers may have no id. */
const identified = machineFacts("").hardwareId === "" ? it.skip : it;

let folder: string;
let platform: FakePlatform;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-bad-"));
  platform = await startFakePlatform();
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await platform.close();
  rmSync(folder, { recursive: true, force: true });
});

const inState = (name: string) => join(folder, "state", name);
const config = () => join(folder, "config.json");
function configure(change: object = {}, url = platform.url): void {
  mkdirSync(join(folder, "state"), { recursive: true, mode: 0o700 });
  writeFileSync(config(), JSON.stringify({ url, eventLogs: "none", service: false, ...change }));
}
const enrolled = JSON.stringify({ agentId: "device", orgId: "org", token: "agt_own", intervalSeconds: 1 });
const withKey = () => writeFileSync(inState("enrollment.key"), key);
const withToken = () => writeFileSync(inState("identity.json"), enrolled);

type Running = { errors(): string[]; ended: Promise<number | null>; stop(): Promise<unknown> };

/** Starts the compiled program; `errors` are the lines of warnings and errors that it printed. */
function start(command: string, env: Record<string, string> = {}, args: readonly string[] = []): Running {
  const child = spawn(process.execPath, [main, command, "--config", config(), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const stop = () => {
    child.kill("SIGTERM");
    return ended;
  };
  closing.push(stop);
  const lines = () => text.trim().split("\n");
  return { errors: () => lines().filter((line) => / (warn|error) agent: |^muster-agent: /.test(line)), ended, stop };
}

async function serve(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answers = (status: number, code: string) => () => {
  platform.answer = () => ({ status, body: { code } });
};

describe("an agent that cannot work ends with one line, which is in its log too, and a code of its own", () => {
  it.each<[string, number, string, () => void]>([
    ["a wrong key", 5, "the enrollment key is wrong", answers(401, "enrollment_key_invalid")],
    ["an expired key", 5, "the enrollment key has expired", answers(401, "enrollment_key_expired")],
    ["a key that was used up", 5, "the enrollment key was used up", answers(401, "enrollment_key_exhausted")],
    ["no key", 5, "this machine is not enrolled", () => rmSync(inState("enrollment.key"))],
    ["a server that is no platform", 10, "another server is there", answers(404, "")],
  ])("with %s", async (_name, code, message, change) => {
    configure();
    withKey();
    change();
    const agent = start("run");
    expect(await agent.ended).toBe(code);
    const [last = ""] = agent.errors().slice(-1);
    expect(last).toContain(message);
    expect(readFileSync(inState("agent.log"), "utf8")).toContain(last);
    expect(agent.errors().length).toBeLessThanOrEqual(2);
    expect(existsSync(inState("identity.json"))).toBe(false);
  });

  it.each([
    [401, "agent_token_invalid", "no longer knows this device"],
    [401, "agent_token_revoked", "was revoked"],
    [404, "agent_not_found", "no longer knows this device"],
  ])("with a token that the platform refuses by %d %s, which stays stored", async (status, code, message) => {
    configure();
    withToken();
    answers(status, code)();
    const agent = start("run");
    expect([await agent.ended, agent.errors().at(-1)]).toEqual([6, expect.stringContaining(message)]);
    expect(readFileSync(inState("identity.json"), "utf8")).toBe(enrolled);
  });

  identified("with the state of another machine, until it is enrolled by a key of its own", async () => {
    configure();
    const copied = JSON.stringify({ ...JSON.parse(enrolled), hardwareId: "0".repeat(64) });
    writeFileSync(inState("identity.json"), copied);
    writeFileSync(inState("machine.json"), JSON.stringify({ hardwareId: "0".repeat(64), serialNumber: "PF2ABCDE" }));
    const agent = start("run");
    expect([await agent.ended, agent.errors()]).toEqual([6, [expect.stringContaining("is another machine's")]]);
    expect([readFileSync(inState("identity.json"), "utf8"), platform.heartbeats]).toEqual([copied, []]);
    withKey();
    const own = start("run");
    await until("its heartbeat", () => platform.heartbeats.length > 0);
    await own.stop();
    expect(platform.enrollments).toMatchObject([{ hardwareId: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    expect(platform.enrollments[0]).not.toMatchObject({ hardwareId: "0".repeat(64) });
    expect(platform.enrollments[0]).not.toMatchObject({ serialNumber: "PF2ABCDE" });
  });

  it.each<[string, number, string, () => void]>([
    ["a setting with a typo", 3, '"lables" is no setting', () => configure({ lables: {} })],
    ["no config", 3, "cannot be read", () => rmSync(config())],
    ["a certificate file that is missing", 3, '"caFile"', () => configure({ caFile: "/nonexistent/ca.pem" })],
    ["a state folder that is a file", 7, "state folder", () => configure({ stateFolder: config() })],
    ["a damaged identity", 7, "is damaged", () => writeFileSync(inState("identity.json"), '{"token":')],
  ])("with %s", async (_name, code, message, change) => {
    configure();
    change();
    const agent = start("run");
    expect([await agent.ended, agent.errors()]).toEqual([code, [expect.stringContaining(message)]]);
  });
});

it.each(["status", "doctor", "bug-report", "logs"])("%s refuses an option that it does not have", async (command) => {
  configure();
  const agent = start(command, {}, ["--quick"]);
  expect([await agent.ended, agent.errors()]).toEqual([2, [`muster-agent: "--quick" is no option of ${command}`]]);
});

describe("an agent whose platform cannot be used goes on, and says why once", () => {
  it.each<[string, number, string]>([
    ["answers 500", 500, "the platform answers 500: nothing: it is tried again"],
    ["redirects to another address", 302, "answers 302, a redirect: name the address to which it leads"],
  ])("while it %s, and is online as soon as it can be", async (_name, status, message) => {
    configure();
    withKey();
    let tries = 0;
    platform.answer = () => (++tries <= 3 ? { status, body: {} } : null);
    const agent = start("run");
    await until("its heartbeat", () => platform.heartbeats.length > 0, 60_000);
    expect(agent.errors()).toEqual([expect.stringContaining(message)]);
    expect(platform.enrollments).toHaveLength(1);
    expect(await agent.stop()).toBe(0);
  });

  it("when it does not answer, with a request after each wait and no more", async () => {
    let connections = 0;
    const address = await serve(
      createServer().on("connection", (socket) => {
        connections++;
        socket.destroy();
      }),
    );
    configure({}, `http://${address}`);
    withToken();
    const agent = start("run");
    const startedMs = performance.now();
    await until("three tries", () => connections >= 3, 60_000);
    expect(agent.errors()).toEqual([expect.stringContaining("the platform does not answer (")]);
    await agent.stop();
    // Waits are random, up to one second, two, four …: a busy loop would make thousands.
    expect(connections).toBeLessThan(10 + (performance.now() - startedMs) / 100);
    expect(readFileSync(inState("identity.json"), "utf8")).toBe(enrolled);
  });

  it("when it has another certificate, without a request to it", async () => {
    const requests: string[] = [];
    const server = createTlsServer(testCertificate(), (request, response) => {
      requests.push(request.url ?? "");
      response.end("{}");
    });
    const address = await serve(server);
    configure({}, `https://${address}`);
    withToken();
    const agent = start("run");
    await until("its line", () => agent.errors().length > 0, 60_000);
    expect(agent.errors()).toEqual([expect.stringMatching(/certificate of the platform is not trusted.*"caFile"/)]);
    expect(requests).toEqual([]);
    await agent.stop();
  });
});

describe("doctor ends with the code of what it found first, and its cure", () => {
  it.each<[string, number, string, () => Promise<void> | void]>([
    ["a config with a typo", 3, "correct ", () => configure({ lables: {} })],
    ["a closed port", 8, "start the platform", () => configure({}, "http://127.0.0.1:9")],
    ["a name that leads nowhere", 8, "name server", () => configure({}, "https://muster.invalid")],
    [
      "another certificate",
      9,
      '"caFile"',
      async () => configure({}, `https://${await serve(createTlsServer(testCertificate()))}`),
    ],
    [
      "a server that redirects",
      10,
      "to which it leads",
      async () => {
        const server = createServer((_request, response) => response.writeHead(301, { location: "/x" }).end());
        configure({}, `http://${await serve(server)}`);
      },
    ],
    ["another server", 10, "another server is there", answers(404, "")],
    ["a platform that fails", 11, "it is tried again", answers(500, "internal")],
    [
      "a clock ten years off",
      12,
      "set the clock",
      async () => {
        const date = new Date(Date.now() - 10 * 365 * 86_400_000).toUTCString();
        configure(
          {},
          `http://${await serve(createServer((_request, response) => response.setHeader("date", date).end()))}`,
        );
      },
    ],
    ["a state folder that is gone", 7, "install again", () => rmSync(join(folder, "state"), { recursive: true })],
    ["no enrollment", 5, "muster-agent enroll", () => {}],
    ["no agent", 1, "supervise", withToken],
  ])("for %s", async (_name, code, cure, change) => {
    configure();
    platform.promoted = null;
    await change();
    const child = spawn(process.execPath, [main, "doctor", "--config", config()], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const ended = await new Promise<number | null>((resolve) => child.on("close", resolve));
    const [first = ""] = /cure: .*/.exec(text) ?? [];
    expect([ended, first]).toEqual([code, expect.stringContaining(cure)]);
  });

  it("finds nothing in a certificate of the authority that is named", async () => {
    const address = await serve(createTlsServer(testCertificate(), (_request, response) => response.end()));
    configure({ caFile: testCaFile }, `https://${address}`);
    const { ended } = start("doctor");
    // The next finding: it is not enrolled.
    expect(await ended).toBe(5);
  });
});
