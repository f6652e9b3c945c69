import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Fleet, startFleet } from "./fleet.ts";
import { readOptions, type SimOptions } from "./options.ts";

type Call = { path: string; body: Record<string, unknown>; token: string };
type Answer = { status: number; body?: object; retryAfter?: string } | "cut";

let folder: string;
let server: Server;
let calls: Call[];
let answer: (call: Call) => Answer;
const fleets: Fleet[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-sim-"));
  calls = [];
  answer = platform();
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const bytes = Buffer.concat(chunks);
      const text = request.headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes;
      const token = (request.headers.authorization ?? "").replace("Bearer ", "");
      const call = { path: request.url ?? "", body: JSON.parse(text.toString("utf8")), token };
      calls.push(call);
      const reply = answer(call);
      if (reply === "cut") return request.socket.destroy();
      const headers = reply.retryAfter ? { "retry-after": reply.retryAfter } : {};
      response.writeHead(reply.status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(reply.body ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

/** Everything goes well. */
function platform(): (call: Call) => Answer {
  return ({ path, body }) => {
    if (path.endsWith("/enroll")) {
      const agentId = `device-of-${body.hostname}`;
      return {
        status: 201,
        body: { agentId, orgId: "org", token: `token-of-${body.hostname}`, heartbeatIntervalSeconds: 1 },
      };
    }
    return { status: 200, body: { status: "online", heartbeatIntervalSeconds: 1 } };
  };
}

function start(change: Partial<SimOptions> = {}): Fleet {
  const { port } = server.address() as AddressInfo;
  const options = readOptions([
    "--no-channel",
    "--enrollment-key",
    "key",
    "--state",
    join(folder, "state"),
  ]) as SimOptions;
  const fleet = startFleet({ ...options, url: `http://127.0.0.1:${port}`, ...change });
  fleets.push(fleet);
  return fleet;
}
const heartbeats = () => calls.filter(({ path }) => path.endsWith("/heartbeat"));
const enrollments = () => calls.filter(({ path }) => path.endsWith("/enroll"));

describe("a fleet", () => {
  it("enrolls each agent once, heartbeats as the server asks, and restarts without the key", async () => {
    const fleet = start({ count: 3 });
    await until("three agents to have come by twice", () => heartbeats().length >= 6);
    expect([fleet.states().online, enrollments().length]).toEqual([3, 3]);
    expect(new Set(heartbeats().map(({ token }) => token)).size).toBe(3);
    await fleet.stop();
    const before = heartbeats().length;
    start({ count: 3, enrollmentKey: null });
    await until(
      "all of them again",
      () =>
        new Set(
          heartbeats()
            .slice(before)
            .map(({ path }) => path),
        ).size === 3,
    );
    expect(enrollments()).toHaveLength(3);
  });

  it("repeats an enrollment with the same hardware id when the reply was lost", async () => {
    let lost = 0;
    const well = platform();
    answer = (call) => (call.path.endsWith("/enroll") && lost++ === 0 ? "cut" : well(call));
    const fleet = start();
    await until("the agent to be online", () => fleet.states().online === 1);
    expect(new Set(enrollments().map(({ body }) => body.hardwareId)).size).toBe(1);
    expect(enrollments()).toHaveLength(2);
  });

  it("retries after errors of the server, never before its Retry-After, and counts the reasons", async () => {
    const well = platform();
    const atMs: number[] = [];
    answer = (call) => {
      if (!call.path.endsWith("/heartbeat")) return well(call);
      atMs.push(performance.now());
      return atMs.length === 1 ? { status: 503, body: { code: "overloaded" }, retryAfter: "1" } : well(call);
    };
    const fleet = start();
    await until("the agent to be online", () => fleet.states().online === 1);
    expect((atMs[1] ?? 0) - (atMs[0] ?? 0)).toBeGreaterThanOrEqual(990);
    expect(fleet.figures.total("heartbeat overloaded")).toBe(1);
  });

  it.each([
    ["agent_token_revoked", "/heartbeat", 401],
    ["enrollment_key_exhausted", "/enroll", 401],
    ["limit_reached", "/enroll", 409],
  ])("ends an agent that is refused with %s", async (code, path, status) => {
    const well = platform();
    answer = (call) => (call.path.endsWith(path) ? { status, body: { code } } : well(call));
    const fleet = start();
    await fleet.ended;
    expect(fleet.agents.map(({ state, reason }) => [state, reason])).toEqual([["ended", code]]);
  });

  it("uses a rotated token from then on, and after a restart", async () => {
    const well = platform();
    answer = (call) => (call.path.endsWith("/rotate-token") ? { status: 200, body: { token: "next" } } : well(call));
    const fleet = start({ rotateSeconds: 0.2 });
    await until("the new token to be used", () => heartbeats().some(({ token }) => token === "next"));
    await fleet.stop();
    const before = calls.length;
    start({ enrollmentKey: null });
    await until("it to be used again", () => calls.slice(before).some(({ token }) => token === "next"));
    expect(calls.slice(before).every(({ token }) => token === "next")).toBe(true);
  });
});
