import { describe, expect, it } from "@jest/globals";
import { type AuditVerdict, isProblem, verdictText } from "./verdicts.ts";

const found = (change: Partial<AuditVerdict>): AuditVerdict => ({
  verdict: "OK",
  seq: null,
  lastSeq: null,
  expected: null,
  have: null,
  rows: null,
  format: null,
  reason: null,
  ...change,
});

describe("a finding of a verification", () => {
  it.each<[Partial<AuditVerdict>, string, boolean]>([
    [{ seq: 1, lastSeq: 9 }, "rows 1-9: whole, linked, and in agreement with head and checkpoints", false],
    [{ verdict: "PRUNED_PREFIX", seq: 1, lastSeq: 4 }, "rows 1-4: removed by retention, which signed for it", false],
    [
      { verdict: "PRUNED_PREFIX", seq: 1, lastSeq: 4, reason: "receipt missing" },
      "rows 1-4: removed by retention, which signed for it (receipt missing)",
      true,
    ],
    [{ verdict: "RESTORED", seq: 5, lastSeq: 5 }, "row 5: taken by a declared restore of the database", false],
    [{ verdict: "UNPROTECTED_TAIL", rows: 3 }, "3 rows: younger than the last checkpoint", false],
    [{ verdict: "ALTERED", seq: 7 }, "row 7: not what was sealed", true],
    [
      { verdict: "UNKNOWN_FORMAT", seq: 7, lastSeq: 8, format: 2 },
      "rows 7-8: sealed in a format that this version does not know; linked, content not verified (format 2)",
      true,
    ],
    [
      { verdict: "TRUNCATED", expected: 9, have: 7 },
      "chain: the chain ends before a row that a checkpoint knows (expected 9, have 7)",
      true,
    ],
  ])("%j reads %s", (change, text, problem) => {
    expect([verdictText(found(change)), isProblem(found(change))]).toEqual([text, problem]);
  });
});
