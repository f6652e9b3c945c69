import { parseLine } from "./export-line.ts";
import { addFinding, type Finding } from "./finding.ts";
import { foundChecksum } from "./seal.ts";
import { compareCheckpoints, excludeRestored } from "./verify-notes.ts";
import { settleLast } from "./verify-rows.ts";
import type { Position, Verification } from "./verify-state.ts";

/** How often a stray row is tried as a missing one. */
const maxTries = 20_000;

/**
 * After the last row: evaluates the head, checkpoints beyond it and missing rows. Returns every finding, by position.
 */
export function endVerification(v: Verification, head: { seq: number; checksum: string | null } | null): Finding[] {
  const { findings } = v;
  if (v.last?.isLoose && v.last.doubt !== null && !v.wanted.includes(v.last.checksums[0] ?? "")) {
    const { seq } = v.last;
    v.last = { ...v.last, doubt: null };
    addFinding(findings, { verdict: "INSERTED", seq, reason: "not a row of this chain" });
  }
  const end = v.last ?? emptyEnd(v, head);
  excludeRestored(v, end.trueSeq);
  // Before the end is decided: a checkpoint beyond the head distinguishes a genuine row from an added one.
  const covered = Math.max(v.checkpoints.at(-1)?.seq ?? 0, v.protectedTo);
  if (!v.isSelection && head && end.trueSeq > head.seq && end.seq > head.seq) added(v, end, head.seq, covered);
  const isDoubted = v.last !== null && v.last.doubt !== null;
  settleLast(v);
  if (!v.last) compareCheckpoints(v, v.prunedTo, v.before);
  let have = end.seq;
  if (v.isSelection) v.checkpoints = [];
  else {
    const expected = Math.max(head?.seq ?? 0, covered);
    if (expected > end.trueSeq) v.gaps.push([end.seq + 1, expected]);
    relocateStrays(v);
    const tail = v.gaps.findIndex(([first, last]) => last === expected && expected > end.trueSeq && first > end.seq);
    if (tail >= 0) {
      v.gaps.splice(tail, 1);
      const verdict = covered > end.seq ? "TRUNCATED" : "HEAD_MISMATCH";
      addFinding(findings, { verdict, expected, have: end.seq });
    } else if (expected > end.trueSeq) have = expected;
  }
  for (const [first, last] of v.gaps) addFinding(findings, rangeOf("DELETED", first, last));
  v.gaps = [];
  if (!v.isSelection) compareBase(v);
  // The chain's last row is altered: already reported.
  if (!isDoubted) compareHead(v, end, have, head);
  if (have > v.protectedTo && v.rows > 0 && !v.isSelection) {
    addFinding(findings, { verdict: "UNPROTECTED_TAIL", rows: have - Math.max(v.protectedTo, (v.firstSeq ?? 1) - 1) });
  }
  if (v.restored) {
    const { seq, lastSeq } = v.restored;
    addFinding(findings, rangeOf("RESTORED", seq, lastSeq));
  }
  if (findings.problems === 0) findings.list.unshift(whole(v, end));
  return findings.list;
}

/**
 * Where a verification without any row ends; one from beyond the chain's end has read nothing, and ends with the chain.
 */
function emptyEnd(v: Verification, head: { seq: number } | null): Position {
  const seq = v.from === null ? v.prunedTo : Math.min(v.from - 1, head?.seq ?? v.prunedTo);
  return { seq, trueSeq: seq, checksums: v.before, doubt: null, isLoose: false, isSwapped: false };
}

/** Rows beyond the head: the head was reset when a checkpoint covers them; otherwise they were added. */
function added(v: Verification, end: Position, headSeq: number, covered: number): void {
  if (covered > headSeq) {
    addFinding(v.findings, { verdict: "HEAD_MISMATCH", expected: headSeq, have: end.seq });
    return;
  }
  const { findings } = v;
  const doubts: Finding["verdict"][] = ["ALTERED", "UNKNOWN_FORMAT", "FORK", "INSERTED"];
  const isDoubt = ({ verdict, seq = 0 }: Finding) => seq > headSeq && doubts.includes(verdict);
  findings.list = findings.list.filter((finding) => !isDoubt(finding));
  if (v.last) v.last.doubt = null;
  addFinding(findings, rangeOf("INSERTED", headSeq + 1, end.seq));
}

/** A row whose number was changed fills a gap: it is altered, and nothing is missing there. */
function relocateStrays(v: Verification): void {
  let tries = maxTries;
  for (const line of v.strays) {
    const row = parseLine(line);
    if (row.type !== "row") continue;
    let was: number | null = null;
    for (const [first, last] of v.gaps) {
      for (let seq = first; seq <= last && was === null && tries > 0; seq++, tries--) {
        if (foundChecksum(row, seq, row.prevChecksum) === row.checksum) was = seq;
      }
    }
    if (was === null) {
      addFinding(v.findings, { verdict: "INSERTED", seq: row.seq });
      continue;
    }
    const seq = was;
    addFinding(v.findings, { verdict: "ALTERED", seq: row.seq, reason: `was row ${seq}` });
    v.gaps = v.gaps.flatMap(([first, last]): [number, number][] => {
      if (seq < first || seq > last) return [[first, last]];
      const parts: [number, number][] = [
        [first, seq - 1],
        [seq + 1, last],
      ];
      return parts.filter(([from, to]) => from <= to);
    });
  }
  v.strays = [];
}

function compareHead(
  v: Verification,
  end: Position,
  have: number,
  head: { seq: number; checksum: string | null } | null,
) {
  if (!head) {
    if (v.rows > 0) addFinding(v.findings, { verdict: "HEAD_MISMATCH", have, reason: "the chain has no head" });
    return;
  }
  const isThere = head.seq === end.trueSeq && (v.last !== null || (!v.isSelection && v.from === null));
  if (isThere && !end.checksums.includes(head.checksum)) {
    addFinding(v.findings, { verdict: "HEAD_MISMATCH", seq: head.seq, reason: "the head has another checksum" });
  }
}

/** The head claims that more was pruned than receipts cover. */
function compareBase({ base, prunedTo, findings }: Verification): void {
  const isSaid = findings.list.some(({ verdict, reason }) => verdict === "PRUNED_PREFIX" && reason !== undefined);
  if (base.seq <= prunedTo || isSaid) return;
  addFinding(findings, { verdict: "HEAD_MISMATCH", expected: prunedTo, have: base.seq, reason: "base" });
}

function whole(v: Verification, end: Position): Finding {
  return { verdict: "OK", rows: v.rows, ...(v.firstSeq === null ? {} : { seq: v.firstSeq, lastSeq: end.seq }) };
}

function rangeOf(verdict: Finding["verdict"], first: number, last: number): Finding {
  return { verdict, seq: first, ...(last > first ? { lastSeq: last } : {}) };
}
