import { describe, expect, it } from "@jest/globals";
import type { GateInput } from "./gate.ts";
import { type OpenOffer, resolveOffer } from "./open-offer.ts";
import type { PlannedRelease, PlannedRollout } from "./plan.ts";
import { mergeSettings, nothingSet } from "./settings.ts";

const now = new Date("2026-01-31T12:00:00Z");
const rollout = (change: Partial<PlannedRollout> = {}): PlannedRollout => ({
  id: "guard",
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
const release = (change: Partial<PlannedRelease> = {}): PlannedRelease => ({
  id: "1.1.0",
  version: "1.1.0",
  minimumVersion: null,
  yanked: false,
  untrusted: null,
  counter: 0,
  expiresAt: null,
  platforms: new Set(["linux/amd64"]),
  guard: rollout(),
  staged: [],
  ofPartners: new Map(),
  ...change,
});
const nothing = { promotedId: null, releases: [] };
const input = (releases: PlannedRelease[], promotedId: string | null = "1.1.0"): GateInput => ({
  device: {
    id: "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f",
    orgId: "o",
    partnerId: "p",
    siteId: null,
    groupIds: [],
    labels: {},
    os: "linux",
    arch: "amd64",
    versions: { agent: "1.0.0", watchdog: "1.0.0", helper: null },
    autoUpdateEnabled: true,
    status: "online",
  },
  merged: mergeSettings(nothingSet, nothingSet),
  catalogue: { agent: { promotedId, releases }, watchdog: nothing, helper: nothing },
  attempts: [],
  requested: false,
  backOffMs: [3_600_000],
  now,
});
const withDevice = (device: Partial<GateInput["device"]>): GateInput => {
  const usual = input([release()]);
  return { ...usual, device: { ...usual.device, ...device } };
};
const open: OpenOffer = {
  component: "agent",
  releaseId: "1.1.0",
  rolloutId: "guard",
  state: "offered",
  isStarted: false,
  isDue: false,
};
const started = { ...open, isStarted: true };
const paused = { guard: rollout({ state: "paused" }) };
const full = { guard: rollout({ budget: 0 }) };

describe("an open attempt", () => {
  it.each<[string, GateInput, OpenOffer | null, string, string]>([
    ["none", input([release()]), null, "none", "offered"],
    ["an offer", input([release()]), open, "repeat", "in_progress"],
    ["an offer whose budget is full", input([release(full)]), open, "repeat", "in_progress"],
    ["an offer of a version that is no longer promoted", input([release()], null), open, "withdraw", "no_target"],
    ["an offer that is due", input([release()]), { ...open, isDue: true }, "withhold", "in_progress"],
    ["a returned offer", input([release()]), { ...open, state: "returned" }, "withhold", "in_progress"],
    ["one that began", input([release()]), started, "repeat", "in_progress"],
    [
      "one that began, of a paused rollout, due",
      input([release(paused)]),
      { ...started, isDue: true },
      "withhold",
      "halted",
    ],
    ["one that began, of a version that was deleted", input([]), started, "withhold", "halted"],
    [
      "one that began, on a system that the version has no file for",
      input([release({ platforms: new Set(["linux/arm64"]) })]),
      started,
      "withdraw",
      "no_artifact",
    ],
    [
      "one that began, updates turned off",
      withDevice({ autoUpdateEnabled: false }),
      started,
      "withdraw",
      "auto_update_off",
    ],
    ["one that began, quarantined", withDevice({ status: "quarantined" }), started, "withdraw", "not_eligible"],
    ["one that began, of a yanked version", input([release({ yanked: true })]), started, "withhold", "halted"],
  ])("is %s, case %#", (_what, of, offer, move, rule) => {
    const { decisions, open: to } = resolveOffer(of, offer);
    expect({ to, rule: decisions.find(({ component }) => component === "agent")?.rule }).toEqual({ to: move, rule });
    // Another component's decision is its own.
    const others = resolveOffer(of, null).decisions.filter(({ component }) => component !== "agent");
    expect(decisions.filter(({ component }) => component !== "agent").map((each) => each.rule)).toEqual(
      others.map((each) => each.rule),
    );
  });

  it("says why it is stopped once the agent has started, and what it goes on with", () => {
    const of = (releases: PlannedRelease[], promotedId: string | null = null) =>
      resolveOffer(input(releases, promotedId), started).decisions.find(({ component }) => component === "agent")
        ?.detail;
    const other = [release({ guard: rollout({ id: "other" }) })];
    expect(of([])).toBe("The version was deleted");
    expect(of(other)).toBe("The rollout of 1.1.0 was cancelled");
    expect(of(other, "1.1.0")).toBe("The update to 1.1.0 is in progress");
  });
});
