import { describe, expect, it } from "@jest/globals";
import type { Api, ApiReply } from "./api.ts";
import { backoffWith } from "./backoff.ts";
import type { Host } from "./host.ts";
import type { AgentIdentity } from "./identity.ts";
import { createAgent } from "./running-agent.ts";

const machine: AgentIdentity = {
  hostname: "host",
  os: "linux",
  arch: "amd64",
  hardwareId: "h",
  serialNumber: "",
  agentId: null,
  orgId: null,
  token: null,
  intervalSeconds: null,
  versions: { agent: "1.0.0" },
};
const ids = { agentId: "a1", orgId: "o1" };
const settings = {
  intervalSeconds: null,
  startSpreadMs: 0,
  rotateSeconds: 0,
  updates: "off",
  liftable: "waits",
  pinned: { number: 1, keys: [] },
} as const;

/** An agent whose pauses take no time, until it has had all replies: each with its status and body. */
async function ranWith(
  replies: readonly [number, Record<string, unknown>, number?][],
  identity = { ...machine },
  random = () => 0,
) {
  const left = [...replies];
  const pauses: number[] = [];
  let stopped = false;
  const stopping = {
    get stopped() {
      return stopped;
    },
    pause: async (ms: number) => void pauses.push(ms),
    stop() {
      stopped = true;
    },
  };
  const call = async (): Promise<ApiReply> => {
    const [status, body, retryAfterMs = null] = left.shift() ?? [0, {}];
    if (left.length === 0) stopping.stop();
    return { status, code: "", retryAfterMs, body };
  };
  const host = { identity, enrollmentKey: () => "k", save: () => undefined, facts: () => ({}) } as never as Host;
  const api = { call, download: () => Promise.reject(new Error("no file")), close: async () => undefined } as Api;
  await createAgent({ api, host, stopping, settings, random }).run();
  return { identity, pauses };
}

describe("an agent of a platform whose replies are wrong", () => {
  it.each<[string, Record<string, unknown>]>([
    ["no token", ids],
    ["a token that is no text", { ...ids, token: 7 }],
    ["an empty token", { ...ids, token: "" }],
    ["no id", { orgId: "o1", token: "agt_x" }],
  ])("takes no enrollment with %s, and tries again", async (_name, body) => {
    const { identity } = await ranWith([
      [201, body],
      [201, { ...ids, token: "agt_y" }],
    ]);
    expect(identity.token).toBe("agt_y");
  });

  it.each([
    [1e-9, 1_000],
    [0, 60_000],
    [1e12, 3_600_000],
    [30, 30_000],
  ])("with an interval of %d s sends a heartbeat each %d ms", async (seconds, expectedMs) => {
    const enrolled = { ...ids, token: "agt_x", heartbeatIntervalSeconds: seconds };
    const { identity } = await ranWith([[201, enrolled]]);
    expect((identity.intervalSeconds ?? 0) * 1_000).toBe(expectedMs);
  });

  it.each([
    ["an enrollment", machine],
    ["a heartbeat", { ...machine, ...ids, token: "agt_x" }],
  ])("and are 500 for an hour repeats %s about once a minute", async (_name, identity) => {
    const replies = Array.from({ length: 70 }, (): [number, Record<string, unknown>] => [500, {}]);
    const { pauses } = await ranWith(replies, { ...identity }, () => 1);
    const waits = pauses.filter((ms) => ms > 0);
    expect(waits.slice(0, 7)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(3_600_000);
  });

  it("waits at most an hour when it asks for more", () => {
    expect(backoffWith(() => 0)(0, 1e15)).toBe(3_600_000);
    expect(backoffWith(() => 0)(0, 5_000)).toBe(5_000);
  });
});
