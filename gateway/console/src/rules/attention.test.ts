import { describe, expect, it } from "@jest/globals";
import { hostOf, needOf } from "./attention.ts";

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

it.each([
  ["https://hooks.example.com/x", "hooks.example.com"],
  ["no address", "no address"],
])("the host of %s is %s", (url, host) => {
  expect(hostOf(url)).toBe(host);
});
