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
