import { describe, expect, it } from "@jest/globals";
import type { AuditVerdict } from "@muster/client";
import { soundness } from "./soundness.ts";

const found = (verdict: AuditVerdict["verdict"], seq: number, format: number | null = null): AuditVerdict => ({
  verdict,
  seq,
  lastSeq: null,
  expected: null,
  have: null,
  rows: null,
  format,
  reason: null,
});

describe("the sentence about a finished verification", () => {
  const unknown = "row 3: sealed in a format that this version does not know; linked, content not verified (format 2)";

  it.each<[string, AuditVerdict[]]>([
    ["as they were sealed", [found("OK", 1), found("ERASED", 2)]],
    ["not as sealed: row 4: not what was sealed", [found("ALTERED", 4)]],
    [`not all could be verified: ${unknown}`, [found("UNKNOWN_FORMAT", 3, 2)]],
    [`not as sealed: ${unknown}; row 4: not what was sealed`, [found("UNKNOWN_FORMAT", 3, 2), found("ALTERED", 4)]],
  ])("reads %s", (text, verdicts) => {
    expect(soundness(verdicts)).toBe(text);
  });
});
