import type { components } from "./generated/schema.ts";

export type AuditVerdict = components["schemas"]["AuditVerdict"];

const sentences: Readonly<Record<AuditVerdict["verdict"], string>> = {
  OK: "whole, linked, and in agreement with head and checkpoints",
  PRUNED_PREFIX: "removed by retention, which signed for it",
  RESTORED: "taken by a declared restore of the database",
  ERASED: "personal fields were erased on request; the row still verifies",
  UNPROTECTED_TAIL: "younger than the last checkpoint",
  ALTERED: "not what was sealed",
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

/** Whether a finding of a verification is a fault of the chain. */
export function isProblem({ verdict, reason }: Pick<AuditVerdict, "verdict" | "reason">): boolean {
  if (verdict === "PRUNED_PREFIX") return reason !== null;
  return !harmless.includes(verdict);
}

/** A finding as a line for people: `rows 3-5: missing`. */
export function verdictText({ verdict, seq, lastSeq, expected, have, rows, reason }: AuditVerdict): string {
  const isOne = lastSeq === null || lastSeq === seq;
  const place =
    seq !== null ? (isOne ? `row ${seq}` : `rows ${seq}-${lastSeq}`) : rows !== null ? `${rows} rows` : "chain";
  const heads = expected === null ? "" : ` (expected ${expected}, have ${have})`;
  return `${place}: ${sentences[verdict]}${heads}${reason ? ` (${reason})` : ""}`;
}
