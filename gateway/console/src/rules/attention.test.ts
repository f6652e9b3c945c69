import { describe, expect, it } from "@jest/globals";
import { hostOf, needOf, withInstants } from "./attention.ts";

describe("what needs attention", () => {
  it.each([
    [{ kind: "rollout", record: { name: "agent 2.5.0" }, count: 1 }, "Rollout of “agent 2.5.0” is halted.", "bad"],
    [{ kind: "api_key", record: { name: "ci" }, count: 1 }, "API key “ci” ends soon.", "warn"],
    [{ kind: "device", record: null, count: 1_200 }, "1,200 devices wait for approval.", "warn"],
    [{ kind: "device", record: null, count: 1 }, "1 device waits for approval.", "warn"],
    [{ kind: "toString", record: { name: "x" }, count: 1 }, "“x” needs attention.", "bad"],
  ])("titles %j as %s", (item, title, tone) => {
    expect(needOf({ ...item, sentence: "" })).toMatchObject({ title, tone });
  });
});

it("shows the instants of a sentence as people read them", () => {
  const sentence = "It ends at 2026-01-02T03:04:05.678Z: rotate it.";
  expect(withInstants(sentence, (at) => `day ${at.getUTCDate()}`)).toBe("It ends at day 2: rotate it.");
});

it.each([
  ["https://hooks.example.com/x", "hooks.example.com"],
  ["no address", "no address"],
])("the host of %s is %s", (url, host) => {
  expect(hostOf(url)).toBe(host);
});

it("the reason of a halted rollout is in words, without its state", () => {
  const sentence = "Halted: 5 failures, the last: silent_after_return.";
  expect(withInstants(sentence, String)).toBe("5 failures, the last: silent after return.");
});
