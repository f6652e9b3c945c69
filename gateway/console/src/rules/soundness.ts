import { type AuditVerdict, isProblem, isUnverified, verdictText } from "@muster/client";

/** What a finished verification found, for the end of a sentence about its rows. */
export function soundness(verdicts: readonly AuditVerdict[]): string {
  const problems = verdicts.filter(isProblem);
  if (problems.length === 0) return "as they were sealed";
  const found = problems.map(verdictText).join("; ");
  return `${problems.every(isUnverified) ? "not all could be verified" : "not as sealed"}: ${found}`;
}
