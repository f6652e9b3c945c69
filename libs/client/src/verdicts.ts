import type { components } from "./generated/schema.ts";

export type AuditVerdict = components["schemas"]["AuditVerdict"];

const sentences: Readonly<Record<AuditVerdict["verdict"], string>> = {
  OK: "whole, linked, and in agreement with head and checkpoints",
  PRUNED_PREFIX: "removed by retention, which signed for it",
  RESTORED: "taken by a declared restore of the database",
  ERASED: "personal fields were erased on request; the row still verifies",
  UNPROTECTED_TAIL: "younger than the last checkpoint",
  ALTERED: "not what was sealed",
  UNKNOWN_FORMAT: "sealed in a format that this version does not know; linked, content not verified",
  DELETED: "missing",
  INSERTED: "never sealed into this chain",
  REORDERED: "sealed under another number",
  FORK: "two histories meet here",
  TRUNCATED: "the chain ends before a row that a checkpoint knows",
  CHECKPOINT_MISMATCH: "not the row that the checkpoint signed",
  BAD_SIGNATURE: "signed by no known key",
  HEAD_MISMATCH: "the head says another end than the rows",
};

const harmless: readonly AuditVerdict["verdict"][] = ["OK", "RESTORED", "ERASED", "UNPROTECTED_TAIL"];

/** Whether a finding of a verification keeps its chain from being intact. */
export function isProblem({ verdict, reason }: Pick<AuditVerdict, "verdict" | "reason">): boolean {
  if (verdict === "PRUNED_PREFIX") return reason !== null;
  return !harmless.includes(verdict);
}

/** Whether a finding is only that the deployment cannot verify it: nothing speaks against the chain. */
export const isUnverified = ({ verdict }: Pick<AuditVerdict, "verdict">): boolean => verdict === "UNKNOWN_FORMAT";

/** The verdict's name; that of an unknown format with the format: `UNKNOWN_FORMAT(2)`. */
export const verdictName = ({ verdict, format }: Pick<AuditVerdict, "verdict" | "format">): string =>
  format === null ? verdict : `${verdict}(${format})`;

/** A finding as a line for people: `rows 3-5: missing`. */
export function verdictText({ verdict, seq, lastSeq, expected, have, rows, format, reason }: AuditVerdict): string {
  const isOne = lastSeq === null || lastSeq === seq;
  const range =
    seq !== null ? (isOne ? `row ${seq}` : `rows ${seq}-${lastSeq}`) : rows !== null ? `${rows} rows` : "chain";
  const heads = expected === null ? "" : ` (expected ${expected}, have ${have})`;
  const sealedIn = format === null ? "" : ` (format ${format})`;
  return `${range}: ${sentences[verdict]}${heads}${sealedIn}${reason ? ` (${reason})` : ""}`;
}
