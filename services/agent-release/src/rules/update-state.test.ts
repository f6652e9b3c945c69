import { describe, expect, it } from "@jest/globals";
import { decide, type GateInput } from "./gate.ts";
import type { PlannedRelease } from "./plan.ts";
import { mergeSettings, nothingSet } from "./settings.ts";
import { updateStateOf } from "./update-state.ts";

const now = new Date("2024-02-29T12:00:00Z");
const hourMs = 3_600_000;
const release = (version: string): PlannedRelease => ({
  ...{ id: version, version, minimumVersion: null, yanked: false, untrusted: null, counter: 0, expiresAt: null },
  ...{ platforms: new Set(["linux/amd64"]), staged: [], ofPartners: new Map() },
  guard: {
    ...{ id: version, kind: "guard", state: "running", rings: [], openRings: 0, percent: 100, budget: null },
    partnerId: null,
    haltedParts: new Map(),
  },
});
const promoted = { promotedId: "1.2.0", releases: [release("1.2.0"), release("1.1.0")] };
const nothing = { promotedId: null, releases: [] };
const input = (agent: string | null, watchdog: string | null = null): GateInput => ({
  device: {
    ...{ id: "d", orgId: "o", partnerId: "p", siteId: null, groupIds: [], labels: {}, os: "linux", arch: "amd64" },
    ...{ versions: { agent, watchdog, helper: null }, autoUpdateEnabled: true, status: "online" },
  },
  merged: mergeSettings(nothingSet, nothingSet),
  catalogue: { agent: promoted, watchdog: promoted, helper: nothing },
  ...{ attempts: [], requested: false, backOffMs: [hourMs], now },
});
const failed = (hoursAgo: number) => ({
  ...{ component: "agent" as const, releaseId: "1.2.0", state: "failed" },
  endedAt: new Date(now.getTime() - hoursAgo * hourMs),
});

const stateOf = (of: GateInput) => updateStateOf(of, decide(of));

describe("the update state of a device", () => {
  it.each([
    ["1.2.0", null, "current"],
    ["1.1.0", null, "behind"],
    ["1.3.0", null, "ahead"],
    ["1.2.0", "1.1.0", "behind"],
    ["1.3.0", "1.2.0", "ahead"],
    ["nightly", null, null],
    [null, null, null],
  ])("with agent %s and watchdog %s is %s", (agent, watchdog, expected) => {
    expect(stateOf(input(agent, watchdog))).toBe(expected);
  });

  it("is failed while an update waits after its failure, and behind again then", () => {
    const of = (hoursAgo: number, agent: string) => stateOf({ ...input(agent), attempts: [failed(hoursAgo)] });
    expect([of(0.5, "1.1.0"), of(2, "1.1.0"), of(0.5, "1.2.0")]).toEqual(["failed", "behind", "current"]);
  });

  it("is the same whether its updates are permitted or not, and unknown without a target or trust", () => {
    const outdated = input("1.1.0");
    const { device } = outdated;
    const manual = mergeSettings(nothingSet, { ...nothingSet, updatePolicy: "manual" });
    expect(stateOf({ ...outdated, merged: manual })).toBe("behind");
    expect(stateOf({ ...outdated, device: { ...device, autoUpdateEnabled: false } })).toBe("behind");
    expect(stateOf({ ...outdated, device: { ...device, status: "quarantined" } })).toBeNull();
    expect(stateOf({ ...outdated, catalogue: { agent: nothing, watchdog: nothing, helper: nothing } })).toBeNull();
  });
});
