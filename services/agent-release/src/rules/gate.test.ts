import { describe, expect, it } from "@jest/globals";
import { Rule } from "@muster/proto/muster/release/v1/update_pb";
import fc from "fast-check";
import { decide, type GateInput, type Rule as RuleName } from "./gate.ts";
import type { PlannedRelease, PlannedRollout } from "./plan.ts";
import { mergeSettings, nothingSet } from "./settings.ts";

const now = new Date("2024-02-29T12:00:00Z");
const hourMs = 3_600_000;
const guard = (id: string, change: Partial<PlannedRollout> = {}): PlannedRollout => ({
  id: `guard-${id}`,
  kind: "guard",
  partnerId: null,
  state: "running",
  rings: [],
  openRings: 0,
  percent: 100,
  haltedParts: new Map(),
  budget: null,
  ...change,
});
const release = (version: string, change: Partial<PlannedRelease> = {}): PlannedRelease => ({
  id: version,
  version,
  minimumVersion: null,
  yanked: false,
  untrusted: null,
  counter: 0,
  expiresAt: null,
  platforms: new Set(["linux/amd64"]),
  guard: guard(version),
  staged: [],
  ofPartners: new Map(),
  ...change,
});
const nothing = { promotedId: null, releases: [] };
const staged = (change: Partial<PlannedRollout>) => guard("s", { kind: "staged", id: "s", ...change });

const device = {
  id: "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f",
  orgId: "o",
  partnerId: "p",
  siteId: null,
  groupIds: [],
  labels: {},
  os: "linux",
  arch: "amd64",
  versions: { agent: "1.0.0", watchdog: null, helper: null },
  autoUpdateEnabled: true,
  status: "online",
};
const base: GateInput = {
  device,
  merged: mergeSettings(nothingSet, nothingSet),
  catalogue: {
    agent: { promotedId: "1.2.0", releases: [release("1.2.0"), release("1.1.0")] },
    watchdog: nothing,
    helper: nothing,
  },
  attempts: [],
  requested: false,
  backOffMs: [hourMs, 4 * hourMs, 24 * hourMs],
  now,
};
const agents = (releases: PlannedRelease[], promotedId: string | null) => ({
  catalogue: { ...base.catalogue, agent: { promotedId, releases } },
});
const set = (change: object) => ({ merged: mergeSettings(nothingSet, { ...nothingSet, ...change }) });
const failed = (hoursAgo: number) => ({
  component: "agent" as const,
  releaseId: "1.2.0",
  state: "failed",
  endedAt: new Date(now.getTime() - hoursAgo * hourMs),
});
const says = (change: object) => ({ device: { ...device, ...change } });
const runs = (agent: string) => says({ versions: { agent, watchdog: null, helper: null } });
const ring = { name: "r", partnerIds: [], orgIds: ["other"], siteIds: [], groupIds: [] };
const closed = set({ windowStart: 0, windowEnd: 60 });

const rows: [RuleName, string, Partial<GateInput>][] = [
  ["not_eligible", "a quarantined device", says({ status: "quarantined" })],
  ["not_eligible", "a decommissioned device", says({ status: "decommissioned" })],
  [
    "auto_update_off",
    "a device whose updates are off, although requested",
    { ...says({ autoUpdateEnabled: false }), requested: true },
  ],
  ["policy_manual", "a manual policy", set({ updatePolicy: "manual" })],
  ["offered", "a manual policy, requested", { ...set({ updatePolicy: "manual" }), requested: true }],
  ["no_target", "nothing promoted", agents([release("1.2.0")], null)],
  ["no_target", "a pin that is registered no more", set({ agentTarget: "9.9.9" })],
  ["current_unparsable", "a version that is none", runs("nightly")],
  ["up_to_date", "the target", runs("1.2.0")],
  ["up_to_date", "the target with build metadata", runs("v1.2.0+7")],
  ["ahead_of_target", "a newer version: no downgrade", runs("1.10.0")],
  ["no_artifact", "a platform without a file", says({ arch: "arm64" })],
  ["no_artifact", "a machine with musl without a file of its own", says({ libc: "musl" })],
  ["offered", "a machine with glibc", says({ libc: "gnu" })],
  [
    "offered",
    "a machine with musl",
    { ...says({ libc: "musl" }), ...agents([release("1.2.0", { platforms: new Set(["linux/amd64/musl"]) })], "1.2.0") },
  ],
  [
    "halted",
    "a rollout halted for musl",
    {
      ...says({ libc: "musl" }),
      ...agents(
        [
          release("1.2.0", {
            platforms: new Set(["linux/amd64/musl"]),
            guard: guard("1.2.0", { haltedParts: new Map([["platform linux/amd64/musl", "3 failed"]]) }),
          }),
        ],
        "1.2.0",
      ),
    },
  ],
  [
    "offered",
    "a rollout halted for musl alone",
    agents(
      [release("1.2.0", { guard: guard("1.2.0", { haltedParts: new Map([["platform linux/amd64/musl", "x"]]) }) })],
      "1.2.0",
    ),
  ],
  [
    "below_minimum",
    "a version too old, without a step",
    agents([release("1.2.0", { minimumVersion: "1.1.0" })], "1.2.0"),
  ],
  [
    "below_minimum",
    "a version too old, whose release is the only other one",
    agents([release("1.2.0", { minimumVersion: "1.1.0" }), release("1.0.0")], "1.2.0"),
  ],
  ["window_closed", "a closed window", closed],
  ["offered", "a closed window, requested", { ...closed, requested: true }],
  [
    "not_in_ring",
    "a staged rollout elsewhere",
    { ...agents([release("2.0.0", { staged: [staged({ rings: [ring], openRings: 1 })] }), release("1.0.0")], "1.0.0") },
  ],
  [
    "not_in_bucket",
    "a staged rollout for nobody yet",
    agents([release("2.0.0", { staged: [staged({ percent: 0 })] }), release("1.0.0")], "1.0.0"),
  ],
  ["halted", "a halted guard", agents([release("1.2.0", { guard: guard("1.2.0", { state: "halted" }) })], "1.2.0")],
  [
    "halted",
    "a paused staged rollout",
    agents([release("2.0.0", { staged: [staged({ state: "paused" })] }), release("1.0.0")], "1.0.0"),
  ],
  [
    "halted",
    "a yanked pin",
    { ...agents([release("1.2.0", { yanked: true })], null), ...set({ agentTarget: "1.2.0" }) },
  ],
  ["halted", "a manifest that has expired", agents([release("1.2.0", { expiresAt: now })], "1.2.0")],
  [
    "release_untrusted",
    "an unsigned promoted release",
    agents([release("1.2.0", { untrusted: "is not signed by a known key" })], "1.2.0"),
  ],
  [
    "release_untrusted",
    "an unsigned pin, requested in a closed window",
    {
      ...agents([release("1.2.0", { untrusted: "is not signed by a known key" })], null),
      ...set({ agentTarget: "1.2.0", windowStart: 0, windowEnd: 60 }),
      requested: true,
    },
  ],
  [
    "offered",
    "the promoted one while a staged one is unsigned",
    agents(
      [release("2.0.0", { staged: [staged({})], untrusted: "is not signed by a known key" }), release("1.2.0")],
      "1.2.0",
    ),
  ],
  [
    "below_minimum",
    "a step that is unsigned",
    agents(
      [release("1.2.0", { minimumVersion: "1.1.0" }), release("1.1.0", { untrusted: "is not signed by a known key" })],
      "1.2.0",
    ),
  ],
  [
    "offered",
    "a manifest that has a moment left",
    agents([release("1.2.0", { expiresAt: new Date(+now + 1) })], "1.2.0"),
  ],
  [
    "offered",
    "the promoted one while a staged one has expired",
    agents([release("2.0.0", { staged: [staged({})], expiresAt: now }), release("1.2.0")], "1.2.0"),
  ],
  ["back_off", "a failure half an hour ago", { attempts: [failed(0.5)] }],
  ["back_off", "a second failure three hours ago", { attempts: [failed(30), failed(3)] }],
  [
    "offered",
    "a second failure, where the second waits for nothing",
    { attempts: [failed(30), failed(3)], backOffMs: [hourMs, 0] },
  ],
  ["offered", "a failure two hours ago", { attempts: [failed(2)] }],
  ["in_progress", "an open attempt", { attempts: [{ ...failed(0), state: "offered", endedAt: null }] }],
  ["in_flight_cap", "a full budget", agents([release("1.2.0", { guard: guard("1.2.0", { budget: 0 }) })], "1.2.0")],
  ["offered", "an older version", {}],
];

describe("the gate", () => {
  it.each(rows)("returns %s for %s", (rule, _name, change) => {
    const [agent] = decide({ ...base, ...change });
    expect(agent?.rule).toBe(rule);
    expect(agent?.recheckAt.getTime()).toBeLessThanOrEqual(now.getTime() + 15 * 60_000);
  });

  it("returns not_reported for a component without a version", () => {
    expect(decide(base).map(({ rule }) => rule)).toEqual(["offered", "not_reported", "not_reported"]);
  });

  it("offers one component at a time, agent first", () => {
    const own = base.catalogue.agent;
    const versions = { agent: "1.0.0", watchdog: "1.0.0", helper: "1.0.0" };
    const input = { ...base, device: { ...device, versions }, catalogue: { agent: own, watchdog: own, helper: own } };
    expect(decide(input).map(({ rule }) => rule)).toEqual(["offered", "in_progress", "in_progress"]);
  });

  it("offers the newest intermediate release when the target requires a newer one first", () => {
    const releases = [
      release("3.0.0", { minimumVersion: "2.0.0" }),
      release("2.3.0", { expiresAt: now }),
      release("2.2.0", { yanked: true }),
      release("2.1.0"),
      release("2.0.0"),
    ];
    const [agent] = decide({ ...base, ...agents(releases, "3.0.0") });
    expect([agent?.rule, agent?.target?.version, agent?.targetSource]).toEqual(["offered", "2.1.0", "minimum"]);
  });

  it.each<[string, Partial<GateInput>]>([
    ["a manual policy", set({ updatePolicy: "manual" })],
    ["updates that are turned off", says({ autoUpdateEnabled: false })],
    ["a closed window", closed],
    ["quarantine", says({ status: "quarantined" })],
    ["a failure", { attempts: [failed(0.5)] }],
  ])("names the version that %s holds a device back from", (_name, change) => {
    const [agent] = decide({ ...base, ...change });
    expect([agent?.target?.version, agent?.targetSource]).toEqual(["1.2.0", "latest"]);
  });

  it("names the pin that no registered version meets", () => {
    const [agent] = decide({ ...base, ...set({ agentTarget: "9.9.9" }) });
    expect([agent?.rule, agent?.detail]).toEqual(["no_target", "Its organization pins 9.9.9, which is not registered"]);
  });

  it("checks again when the window opens", () => {
    const soon = set({ windowStart: 12 * 60 + 5, windowEnd: 13 * 60 });
    expect(decide({ ...base, ...soon })[0]?.recheckAt).toEqual(new Date("2024-02-29T12:05:00Z"));
  });

  it("has a row for each of its rules", () => {
    const ruleNames = Object.keys(Rule).flatMap((name) =>
      /^[A-Z]/.test(name) && name !== "UNSPECIFIED" ? [name.toLowerCase()] : [],
    );
    expect(new Set([...rows.map(([rule]) => rule), "not_reported"])).toEqual(new Set(ruleNames));
  });

  it("offers nothing more when any feature of the device is turned off", () => {
    const version = fc.constantFrom("0.9.0", "1.0.0", "1.1.0", "2.0.0", null);
    const rollout = fc.record({
      state: fc.constantFrom<PlannedRollout["state"]>("running", "paused", "halted", "completed"),
      percent: fc.constantFrom(0, 50, 100),
      budget: fc.constantFrom(null, 0, 5),
    });
    const own = fc
      .record({
        guard: rollout,
        staged: rollout,
        promotedId: fc.constantFrom(null, "1.0.0", "1.1.0"),
        yanked: fc.boolean(),
      })
      .map(({ promotedId, yanked, ...of }) => ({
        promotedId,
        releases: [
          release("2.0.0", { staged: [staged(of.staged)], minimumVersion: "1.0.0" }),
          release("1.1.0", { guard: guard("1.1.0", of.guard), yanked }),
          release("1.0.0"),
        ],
      }));
    const input = fc.record<GateInput>({
      device: fc
        .record({ agent: version, watchdog: version, helper: version })
        .map((versions) => ({ ...device, versions })),
      merged: fc
        .record({ agentTarget: fc.constantFrom(null, "latest", "1.0.0"), windowEnd: fc.constantFrom(null, 60) })
        .map((settings) => mergeSettings(nothingSet, { ...nothingSet, ...settings })),
      catalogue: fc.record({ agent: own, watchdog: own, helper: own }),
      attempts: fc.constantFrom([], [failed(0.5)], [{ ...failed(0), state: "offered", endedAt: null }]),
      requested: fc.boolean(),
      backOffMs: fc.constant(base.backOffMs),
      now: fc.constant(now),
    });
    const offered = (gateInput: GateInput) =>
      decide(gateInput).flatMap(({ rule, component }) => (rule === "offered" ? [component] : []));
    const turnedOff: ((gateInput: GateInput) => GateInput)[] = [
      (gateInput) => ({ ...gateInput, device: { ...gateInput.device, autoUpdateEnabled: false } }),
      (gateInput) => ({ ...gateInput, device: { ...gateInput.device, status: "quarantined" } }),
      (gateInput) => ({ ...gateInput, requested: false }),
      (gateInput) => ({
        ...gateInput,
        merged: mergeSettings({ ...nothingSet, updatePolicy: "manual" }, gateInput.merged.settings),
      }),
      (gateInput) => ({
        ...gateInput,
        merged: mergeSettings({ ...nothingSet, windowStart: 0, windowEnd: 60 }, gateInput.merged.settings),
      }),
    ];
    fc.assert(
      fc.property(input, fc.constantFrom(...turnedOff), (gateInput, off) => {
        const before = offered(gateInput);
        return offered(off(gateInput)).every((component) => before.includes(component));
      }),
      { numRuns: 2_000 },
    );
  });
});
