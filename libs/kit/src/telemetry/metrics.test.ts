import { expect, it } from "@jest/globals";
import { counter, renderMetrics } from "./metrics.ts";

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
