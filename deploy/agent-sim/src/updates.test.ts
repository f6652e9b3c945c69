import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { generateNoteKey, type NoteSigner, noteKeys, signNote } from "@muster/kit";
import { until } from "@muster/testing";
import { type Fleet, startFleet } from "./fleet.ts";
import { readOptions, type SimOptions } from "./options.ts";

type Said = { agentVersion: string; watchdogVersion?: string; update?: { state: string; error?: string } };

const [signer, other] = [noteKeys(generateNoteKey("releases")).signer, noteKeys(generateNoteKey("releases")).signer];
const bytes = Buffer.from("agent 1.1.0\n".repeat(10_000));
const sha256 = createHash("sha256").update(bytes).digest("hex");

let folder: string;
let server: Server;
let said: Said[];
/** The offer to the next heartbeats, until the agent reports a failure or `isOver` returns true. */
let offer: Record<string, unknown> | null;
let isOver: (body: Said) => boolean;
/** Replaces how the file is served. */
let serve: (request: IncomingMessage, response: ServerResponse) => void;
let downloads: IncomingMessage[];
const fleets: Fleet[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-sim-"));
  [said, downloads, serve] = [[], [], whole];
  server = createServer((request, response) => {
    if (request.method === "GET") {
      downloads.push(request);
      return serve(request, response);
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      const reply = request.url?.endsWith("/enroll") ? enrolled : recorded(body as Said);
      response.writeHead(request.url?.endsWith("/enroll") ? 201 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  offer = offering();
  isOver = ({ agentVersion }) => agentVersion !== "1.0.0";
});
afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

const enrolled = { agentId: "device", orgId: "org", token: "token", heartbeatIntervalSeconds: 3_600 };
const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function recorded(body: Said): object {
  said.push(body);
  const state = body.update?.state;
  if (state === "failed" || state === "rolled_back" || isOver(body)) offer = null;
  return { status: "online", heartbeatIntervalSeconds: 3_600, updates: offer ? [offer] : [] };
}

function whole(request: IncomingMessage, response: ServerResponse): void {
  const [, from = "0"] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
  response.writeHead(request.headers.range ? 206 : 200);
  response.end(bytes.subarray(Number(from)));
}

function manifest(change: object = {}, by: NoteSigner = signer): string {
  const artifacts = [{ os: "linux", arch: "amd64", size: bytes.length, sha256, name: "agent" }];
  const line = { version: "1.1.0", component: "agent", counter: 4, artifacts, ...change };
  return signNote(`${JSON.stringify(line)}\n`, by);
}

function offering(change: object = {}): Record<string, unknown> {
  const about = { attemptId: "a1", component: "agent", version: "1.1.0", size: bytes.length, sha256 };
  return { ...about, url: `${base()}/agents/download/linux/amd64`, manifest: manifest(), ...change };
}

function start(change: Partial<SimOptions> = {}): Fleet {
  const args = ["--no-channel", "--enrollment-key", "key", "--os", "linux", "--state", join(folder, "state")];
  const options = readOptions([...args, "--restart", "0", "--release-keys", signer.text]) as SimOptions;
  const fleet = startFleet({ ...options, url: base(), logsSeconds: 0, eventsSeconds: 0, ...change });
  fleets.push(fleet);
  return fleet;
}
const sizeOf = (name: string) => statSync(join(folder, "state.files", "0", name), { throwIfNoEntry: false })?.size ?? 0;
const installed = () => readFileSync(join(folder, "state.files", "0", "agent"), "utf8");
const inAYear = () => new Date(Date.now() + 365 * 86_400_000).toISOString();
/** The reason of the failure that the agent reports, and the version that it runs. */
async function refusal(): Promise<unknown[]> {
  const report = await until("a report", () => said.find((each) => each.update?.state === "failed"));
  return [report.update?.error, report.agentVersion];
}
const lastSaid = (wanted: Partial<Said>) =>
  until(`a heartbeat with ${JSON.stringify(wanted)}`, () =>
    said.find((each) => Object.entries(wanted).every(([key, value]) => each[key as keyof Said] === value)),
  );

describe("an agent that is offered an update", () => {
  it("downloads and checks it, resumes a cut download, runs it, and reports at once and after a restart", async () => {
    serve = (request, response) => {
      if (downloads.length > 1) return whole(request, response);
      response.writeHead(200, { "content-length": bytes.length });
      response.write(bytes.subarray(0, 50_000));
      // Cut when some of it is on the disk.
      void until("the first bytes", () => sizeOf("agent.part") > 0).then(() => request.socket.destroy());
    };
    const fleet = start();
    // Its interval is an hour: it does not wait for the next heartbeat.
    await lastSaid({ agentVersion: "1.1.0" });
    const range = Number(/^bytes=(\d+)-$/.exec(downloads[1]?.headers.range ?? "")?.[1]);
    expect(range).toBeGreaterThan(0);
    expect(installed()).toBe(bytes.toString());
    await fleet.stop();
    said = [];
    start({ enrollmentKey: null });
    await until("a heartbeat", () => said[0]);
    expect(said[0]?.agentVersion).toBe("1.1.0");
  });

  it("follows a redirect to the release host", async () => {
    serve = (request, response) => {
      if (request.url === "/elsewhere") return whole(request, response);
      response.writeHead(302, { location: "/elsewhere" }).end();
    };
    start();
    await lastSaid({ agentVersion: "1.1.0" });
  });

  it("retries later when the platform is busy", async () => {
    serve = (request, response) => {
      if (downloads.length > 1) return whole(request, response);
      response.writeHead(503, { "retry-after": "1" }).end();
    };
    start();
    await lastSaid({ agentVersion: "1.1.0" });
  });

  const past = "2020-01-01T00:00:00Z";
  const none = { size: bytes.length, sha256: "0".repeat(64), os: "linux", arch: "amd64", name: "agent" };
  const refusals: [string, string, () => object][] = [
    ["whose manifest another key signed", "bad_signature", () => ({ manifest: manifest({}, other) })],
    ["without a manifest", "bad_signature", () => ({ manifest: null })],
    [
      "whose manifest was changed",
      "bad_signature",
      () => ({ manifest: manifest().replace('"counter":4', '"counter":5') }),
    ],
    ["whose manifest has expired", "expired", () => ({ manifest: manifest({ expires: past }) })],
    ["of another component", "wrong_component", () => ({ manifest: manifest({ component: "watchdog" }) })],
    ["of another version", "wrong_component", () => ({ manifest: manifest({ version: "1.0.9" }) })],
    [
      "for other platforms",
      "wrong_component",
      () => ({ manifest: manifest({ artifacts: [{ ...none, os: "darwin" }] }) }),
    ],
    ["whose manifest names other bytes", "bad_digest", () => ({ manifest: manifest({ artifacts: [none] }) })],
    ["of another size", "bad_size", () => ({ size: 7 })],
    ["whose file is not there", "download_failed", () => ({ url: `${base()}/gone` })],
  ];
  it.each(refusals)("%s refuses it, and reports %s at once", async (_name, error, change) => {
    serve = (request, response) => {
      if (request.url === "/gone") response.writeHead(404).end();
      else whole(request, response);
    };
    offer = offering(change());
    start();
    expect(await refusal()).toEqual([error, "1.0.0"]);
  });

  it("refuses a file whose bytes were changed on their way", async () => {
    start({ update: "bad-download" });
    expect(await refusal()).toEqual(["bad_digest", "1.0.0"]);
  });

  it("refuses what has expired by its own clock", async () => {
    offer = offering({ manifest: manifest({ expires: inAYear() }) });
    start({ update: "wrong-clock" });
    expect(await refusal()).toEqual(["expired", "1.0.0"]);
  });

  it("refuses a counter that is lower than one that it has seen", async () => {
    const fleet = start();
    await lastSaid({ agentVersion: "1.1.0" });
    await fleet.stop();
    const artifacts = [{ os: "linux", arch: "amd64", size: bytes.length, sha256, name: "agent" }];
    offer = offering({ version: "1.2.0", manifest: manifest({ version: "1.2.0", counter: 3, artifacts }) });
    isOver = () => false;
    start({ enrollmentKey: null });
    expect(await refusal()).toEqual(["older_counter", "1.1.0"]);
  });

  it("goes back to a lower counter with a rollback note", async () => {
    const fleet = start();
    await lastSaid({ agentVersion: "1.1.0" });
    await fleet.stop();
    const artifacts = [{ os: "linux", arch: "amd64", size: bytes.length, sha256, name: "agent" }];
    const line = `${JSON.stringify({ component: "agent", version: "1.0.5", counter: 1_000, scope: "*", expires: inAYear() })}\n`;
    const rollbackNote = signNote(line, signer);
    offer = offering({
      version: "1.0.5",
      manifest: manifest({ version: "1.0.5", counter: 3, artifacts }),
      rollbackNote,
    });
    isOver = ({ agentVersion }) => agentVersion === "1.0.5";
    start({ enrollmentKey: null });
    await lastSaid({ agentVersion: "1.0.5" });
  });

  it.each<[SimOptions["update"], (string | undefined)[][]]>([
    [
      "rolls-back",
      [
        ["1.0.0", undefined],
        ["1.0.0", "rolled_back"],
      ],
    ],
    [
      "watchdog",
      [
        ["1.0.0", undefined],
        ["1.0.0", "rolled_back"],
      ],
    ],
    [
      "crash-loop",
      [
        ["1.0.0", undefined],
        ["1.1.0", undefined],
        ["1.0.0", undefined],
      ],
    ],
    [
      "old-version",
      [
        ["1.0.0", undefined],
        ["0.0.1", undefined],
      ],
    ],
  ])("as %s", async (update, expected) => {
    start({ update });
    await until("its heartbeats", () => said.length >= expected.length);
    expect(said.slice(0, expected.length).map((each) => [each.agentVersion, each.update?.state])).toEqual(expected);
  });

  it("tries a locked file again with the next heartbeats", async () => {
    start({ update: "locked", intervalSeconds: 0.5 });
    await lastSaid({ agentVersion: "1.1.0" });
    expect(said.map(({ update }) => update?.state)).toEqual([undefined, "locked", "locked", undefined]);
  });

  it("never sends a heartbeat again in its scenario `silent`", async () => {
    const fleet = start({ update: "silent" });
    await until("its end", () => fleet.states().silent === 1);
    await fleet.ended;
    expect(said).toHaveLength(1);
  });

  it("updates its watchdog without restarting itself", async () => {
    const watchdog = manifest({ component: "watchdog" });
    offer = offering({ component: "watchdog", manifest: watchdog });
    isOver = ({ watchdogVersion }) => watchdogVersion === "1.1.0";
    start({ watchdogVersion: "1.0.0" });
    expect(await lastSaid({ watchdogVersion: "1.1.0" })).toMatchObject({ agentVersion: "1.0.0" });
  });
});

describe("keys of releases", () => {
  const rootNote = (root: number, by: readonly NoteSigner[]) => {
    const line = `${JSON.stringify({ root, keys: [other.text] })}\n`;
    return `${line}\n${by.map((each) => signNote(line, each).split("\n\n")[1]).join("")}`;
  };

  it("are exchanged by a root note of old and new, and stay exchanged", async () => {
    offer = offering({ manifest: manifest({}, other), rootNotes: [rootNote(2, [signer, other])] });
    const fleet = start();
    await lastSaid({ agentVersion: "1.1.0" });
    await fleet.stop();
    offer = offering({ version: "1.2.0", manifest: manifest({ version: "1.2.0" }, signer) });
    isOver = () => false;
    start({ enrollmentKey: null });
    expect((await refusal())[0]).toBe("bad_signature");
  });

  it("are not exchanged by a note of the new key alone", async () => {
    offer = offering({ manifest: manifest({}, other), rootNotes: [rootNote(2, [other])] });
    start();
    expect((await refusal())[0]).toBe("bad_signature");
  });
});
