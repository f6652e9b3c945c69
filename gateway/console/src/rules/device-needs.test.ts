import { describe, expect, it } from "@jest/globals";
import { deviceNeeds } from "./device-needs.ts";

const device = (change: object = {}) => ({
  status: "online",
  lastSeenAt: "2026-11-29T01:00:00Z",
  reported: null,
  ...change,
});
const decision = (rule: string, change: object = {}) =>
  ({ component: "agent", current: "2.4.3", target: "2.5.0", rule, detail: "Because", ...change }) as never;
const rollout = (change: object) => ({
  ...{ id: "r", component: "agent", version: "2.5.0", state: "halted", reason: "4 failures", haltedParts: [] },
  ...change,
});
const titles = (of: ReturnType<typeof deviceNeeds>) => of.map(({ tone, title }) => `${tone}: ${title}`);

describe("a device", () => {
  it("needs nothing while it is well", () => {
    const decisions = [decision("up_to_date", { current: "2.5.0" }), decision("window_closed")];
    expect(deviceNeeds(device({ reported: { metrics: { "disk.percent": 94 } } }), decisions)).toEqual([]);
  });

  it.each([
    ["policy_manual", "warn: The update of the agent to 2.5.0 is held."],
    ["halted", "warn: The update of the agent to 2.5.0 is halted."],
    ["no_artifact", "bad: The update of the agent to 2.5.0 is blocked."],
  ])("by the rule %s says: %s", (rule, title) => {
    expect(titles(deviceNeeds(device(), [decision(rule)]))).toEqual([title]);
  });

  it.each([
    ["the halt of its rollout is not said twice", "The rollout of 2.5.0 is halted", [], ""],
    ["a halt for its platform is", "The rollout of 2.5.0 is halted for linux/amd64: 3 failed", [], undefined],
    ["the cause comes from the rollout", "The rollout of 2.5.0 is halted", [rollout({})], "4 failures"],
    ["but not that of another part", "Why", [rollout({ state: "running", haltedParts: [{}] })], "Why"],
    ["not from another version's", "The rollout of 2.5.0 is halted", [rollout({ version: "2.4.0" })], ""],
  ])("while its update is halted: %s", (_name, detail, rollouts, sentence) => {
    const [need] = deviceNeeds(device(), [decision("halted", { detail })], rollouts);
    expect(need?.sentence).toBe(sentence ?? detail);
    expect(need?.rolloutId).toBe(rollouts.find(({ version }) => version === "2.5.0")?.id ?? null);
  });

  it("says first that it is offline with a full disk, and since when", () => {
    const reported = { metrics: { "disk.percent": 97.2 } };
    const needs = deviceNeeds(device({ status: "offline", reported }), [decision("policy_manual")]);
    expect(titles(needs)).toEqual([
      "bad: It is offline.",
      "bad: Its disk is full to 97 %.",
      "warn: The update of the agent to 2.5.0 is held.",
    ]);
    expect(needs[0]?.sentence).toBe("Its last heartbeat was 2026-11-29T01:00:00Z");
  });
});
