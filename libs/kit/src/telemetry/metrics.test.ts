import { expect, it } from "@jest/globals";
import { counter, gauge, renderMetrics } from "./metrics.ts";

it("shows each known series of a counter as 0 before its first event", async () => {
  const labelValues = { kind: ["a", "b"], outcome: ["ok", "failed"] };
  const counted = counter("muster_test_known_total", "Known.", ["kind", "outcome"], labelValues);
  counted.inc({ kind: "b", outcome: "failed" });
  const { body } = await renderMetrics();
  expect(body.split("\n").filter((line) => line.startsWith("muster_test_known_total"))).toEqual([
    'muster_test_known_total{kind="a",outcome="ok"} 0',
    'muster_test_known_total{kind="a",outcome="failed"} 0',
    'muster_test_known_total{kind="b",outcome="ok"} 0',
    'muster_test_known_total{kind="b",outcome="failed"} 1',
  ]);
});

it("refuses a name that a metric of another kind has", () => {
  counter("muster_test_taken_total", "Taken.");
  expect(counter("muster_test_taken_total", "Taken.")).toBe(counter("muster_test_taken_total", "Taken."));
  expect(() => gauge("muster_test_taken_total", "Taken.")).toThrow("already been registered");
});
