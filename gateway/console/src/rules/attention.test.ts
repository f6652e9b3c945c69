import { describe, expect, it } from "@jest/globals";
import { briefly, hostOf, needOf, soonSentence } from "./attention.ts";

describe("what needs attention", () => {
  it.each([
    [{ kind: "rollout", record: { name: "agent 2.5.0" }, count: 1 }, "Rollout of “agent 2.5.0” is halted.", "bad"],
    [{ kind: "api_key", record: { name: "ci" }, count: 1 }, "API key “ci” ends soon.", "warn"],
    [{ kind: "device", record: null, count: 1_200 }, "1,200 devices wait for approval.", "warn"],
    [{ kind: "device", record: null, count: 1 }, "1 device waits for approval.", "warn"],
    [{ kind: "toString", record: { name: "x" }, count: 1 }, "“x” needs attention.", "bad"],
  ])("titles %j as %s", (item, title, tone) => {
    expect(needOf(item)).toMatchObject({ title, tone });
  });
});

it.each([
  [
    {
      kind: "certificate",
      record: { name: "Entra" },
      count: 1,
      sentence: "Its last certificate ends at 2026-12-11T19:40:00.000Z: then …",
    },
    "Certificate of “Entra” ends at 2026-12-11T19:40:00.000Z.",
  ],
  [
    { kind: "api_key", record: { name: "ci" }, count: 1, sentence: "It ends at 2026-12-04T00:00:00Z: rotate it." },
    "API key “ci” ends at 2026-12-04T00:00:00Z.",
  ],
  [
    { kind: "device", record: null, count: 3, sentence: "3 devices have the hardware id of another one." },
    "3 devices wait for approval.",
  ],
])("%j comes soon as %s", (item, sentence) => {
  expect(soonSentence(item)).toBe(sentence);
});

it.each([
  ["Halted for darwin/arm64: 4 of 4 failed. The last: Why.", "darwin/arm64: 4 of 4 failed."],
  ["Halted for darwin/arm64: 4 of 4 failed, the last: rolled_back.", "darwin/arm64: 4 of 4 failed."],
  ["Halted: too many updates failed.", "too many updates failed."],
  ["3 failed since 2026-11-29T18:05:00.000Z: deliveries wait.", "3 failed since 2026-11-29T18:05:00.000Z."],
  ["3 of 3 requests were refused.", "3 of 3 requests were refused."],
])("%s is briefly %s", (sentence, first) => {
  expect(briefly(sentence)).toBe(first);
});

it.each([
  ["https://hooks.example.com/x", "hooks.example.com"],
  ["no address", "no address"],
])("the host of %s is %s", (url, host) => {
  expect(hostOf(url)).toBe(host);
});
