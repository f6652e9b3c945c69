import { describe, expect, it } from "@jest/globals";
import { hostOf, needOfKey, needOfQuarantine, needOfRollout, needOfWebhook } from "./attention.ts";

const rollout = { component: "agent", version: "2.5.0", state: "running", reason: null, failed: 4, haltedParts: [] };
const part = { platform: "darwin/arm64", succeeded: 5, failed: 4 };

describe("what needs attention", () => {
  it("a rollout that runs needs none; one that halted, or a part of it, does", () => {
    expect(needOfRollout(rollout)).toBeNull();
    expect(needOfRollout({ ...rollout, state: "completed", haltedParts: [part] })).toBeNull();
    expect(needOfRollout({ ...rollout, state: "halted" })?.why).toBe("4 devices failed to update.");
    expect(needOfRollout({ ...rollout, haltedParts: [part] })).toMatchObject({
      title: "Rollout of agent 2.5.0 is halted on darwin/arm64.",
      why: "4 of 9 devices failed; the others go on.",
    });
  });

  it("a webhook is named by its name and the host of its receiver", () => {
    const need = needOfWebhook({ name: "ERP sync", url: "https://erp.example/hook" });
    expect([need.title, need.why.split(" ")[0]]).toEqual(["Webhook “ERP sync” is failing.", "erp.example"]);
    expect(hostOf("not an address")).toBe("not an address");
  });

  it.each([
    ["2026-03-01T00:00:01Z", "API key “CI” ends in 1 day."],
    ["2026-03-13T00:00:00Z", "API key “CI” ends in 12 days."],
    ["2026-02-01T00:00:00Z", "API key “CI” ends in 0 days."],
  ])("a key that ends at %s: %s", (expiresAt, title) => {
    expect(needOfKey({ name: "CI", expiresAt }, new Date("2026-03-01T00:00:00Z")).title).toBe(title);
  });

  it.each([
    [1, "1 device waits for approval."],
    [1_200, "1,200 devices wait for approval."],
  ])("%d devices in quarantine: %s", (count, title) => {
    expect(needOfQuarantine(count).title).toBe(title);
  });
});
