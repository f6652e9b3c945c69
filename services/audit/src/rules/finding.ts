/** A finding of verification about a chain (docs/behaviour.md#verification). */
export const verdicts = [
  "OK",
  "PRUNED_PREFIX",
  "RESTORED",
  "ERASED",
  "UNPROTECTED_TAIL",
  "ALTERED",
  "UNKNOWN_FORMAT",
  "DELETED",
  "INSERTED",
  "REORDERED",
  "FORK",
  "TRUNCATED",
  "CHECKPOINT_MISMATCH",
  "BAD_SIGNATURE",
  "HEAD_MISMATCH",
  "FILE_CHANGED",
] as const;

export type Verdict = (typeof verdicts)[number];

export type Finding = {
  verdict: Verdict;
  /** First row of the finding. */
  seq?: number;
  /** Last row it is about, when there are several. */
  lastSeq?: number;
  /** Where the chain should end, and where it does. */
  expected?: number;
  have?: number;
  /** Number of rows. */
  rows?: number;
  /** Format that the rows were sealed in. */
  format?: number;
  /** Details beyond the verdict, as text. */
  reason?: string;
};

const maxFindings = 1_000;

/**
 * Whether the finding keeps the chain from being reported as intact. UNKNOWN_FORMAT does: whoever can change a row can
 * change its format, too.
 */
export function isProblem({ verdict, reason }: Finding): boolean {
  switch (verdict) {
    case "OK":
    case "ERASED":
    case "RESTORED":
    case "UNPROTECTED_TAIL":
      return false;
    case "PRUNED_PREFIX":
      return reason !== undefined;
    default:
      return true;
  }
}

/** Whether the finding is only that this version cannot verify it: nothing speaks against what was found. */
export const isUnverified = ({ verdict }: Finding): boolean => verdict === "UNKNOWN_FORMAT";

/**
 * Findings in the order they were made, neighbours of one kind joined; beyond 1,000 they are only counted. Rows that
 * cannot be verified leave half of the list to the others: they never hide what is wrong.
 */
export type Findings = { list: Finding[]; more: number; problems: number };

export const noFindings = (): Findings => ({ list: [], more: 0, problems: 0 });

/** Adds a finding; a continuation of the last one is merged into it. */
export function addFinding(findings: Findings, finding: Finding): void {
  if (isProblem(finding)) findings.problems += 1;
  const last = findings.list.at(-1);
  const isNext =
    last?.seq !== undefined &&
    last.verdict === finding.verdict &&
    last.reason === finding.reason &&
    last.format === finding.format &&
    finding.seq === (last.lastSeq ?? last.seq) + 1;
  if (last && isNext) last.lastSeq = finding.lastSeq ?? (finding.seq as number);
  else if (findings.list.length < (isUnverified(finding) ? maxFindings / 2 : maxFindings)) findings.list.push(finding);
  else findings.more += 1;
}
