import type { ChainRow } from "./chain-row.ts";
import { renderRow } from "./export-line.ts";
import { addFinding } from "./finding.ts";
import { formatOfRow, foundChecksum, isSupportedFormat } from "./seal.ts";
import { compareCheckpoints, unsigned } from "./verify-notes.ts";
import type { Position, Verification } from "./verify-state.ts";

const maxGaps = 10_000;
const maxStrays = 1_000;
const maxWanted = 10_000;

/**
 * Takes the next row by seq (equal ones in any order). `headSeq` is the chain's head position when the row was read;
 * null when it has none.
 */
export function takeRow(v: Verification, row: ChainRow, headSeq: number | null): void {
  v.rows += 1;
  if (!isSupportedFormat(row)) unknownFormat(v, row);
  else if (row.personalDigest !== null) addFinding(v.findings, { verdict: "ERASED", seq: row.seq });
  const end = v.last?.seq ?? v.prunedTo;
  const isBeyond = row.seq > end + 1 && headSeq !== null && row.seq > headSeq && !v.isSelection;
  if (row.seq >= 1 && row.seq <= v.prunedTo) {
    addFinding(v.findings, { verdict: "INSERTED", seq: row.seq, reason: "a pruned row is back" });
  } else if (row.seq < 1 || isBeyond) stray(v, row);
  else locate(v, row);
}

function locate(v: Verification, row: ChainRow): void {
  const computed = foundChecksum(row, row.seq, row.prevChecksum);
  const isSelf = computed === row.checksum;
  const here: Position = {
    seq: row.seq,
    trueSeq: row.seq,
    checksums: computed === null || isSelf ? [row.checksum] : [row.checksum, computed],
    // Of an unknown format only the links are compared: from the previous row, to the next one and to checkpoints.
    doubt: isSelf || !isSupportedFormat(row) ? null : "",
    isLoose: false,
    isSwapped: false,
  };
  const { last } = v;
  const isLinked = last?.checksums.includes(row.prevChecksum) ?? false;
  const isNext = row.seq === (last?.seq ?? 0) + 1;
  if (!last) first(v, row, here);
  else if (row.seq === last.seq) repeat(v, row, here);
  else if (!isNext && (v.isSelection || !isLinked)) {
    if (!v.isSelection) missing(v, last.seq + 1, row.seq - 1);
    advance(v, here, [row.prevChecksum]);
  } else if (isLinked) linked(v, row, here);
  else unlinked(v, row, here);
}

/** A row that a later version sealed; its values cannot be compared with its checksum. */
function unknownFormat(v: Verification, row: ChainRow): void {
  const format = formatOfRow(row);
  const isRelabelled = foundChecksum({ ...row, format }, row.seq, row.prevChecksum) === row.checksum;
  addFinding(v.findings, {
    verdict: "UNKNOWN_FORMAT",
    seq: row.seq,
    format: row.format,
    ...(isRelabelled ? { reason: `its checksum is of format ${format}` } : {}),
  });
}

/** The last row's doubt is now certain. Also compares it with its checkpoint. */
export function settleLast(v: Verification): void {
  const { last } = v;
  if (!last) return;
  if (last.doubt !== null) {
    addFinding(v.findings, { verdict: "ALTERED", seq: last.seq, ...(last.doubt ? { reason: last.doubt } : {}) });
    last.doubt = null;
  }
  compareCheckpoints(v, last.trueSeq, last.checksums);
}

function first(v: Verification, row: ChainRow, here: Position): void {
  v.firstSeq ??= row.seq;
  const expected = v.from ?? v.prunedTo + 1;
  const isWhole = !v.isSelection && row.seq === expected;
  if (!v.isSelection && row.seq > expected) {
    // The head claims that it was pruned, without a signed receipt.
    if (v.base.seq === row.seq - 1) unsigned(v, expected, row.seq - 1);
    else missing(v, expected, row.seq - 1);
  }
  const isLinked = v.from !== null || v.before.includes(row.prevChecksum);
  if (isWhole && !isLinked && here.doubt === null) {
    addFinding(v.findings, { verdict: "FORK", seq: row.seq, reason: "does not link to where the chain begins" });
  }
  if (isWhole && !isLinked && here.doubt !== null) explainDoubt(row, here, v.before);
  advance(v, here, isWhole && v.from === null ? v.before : [row.prevChecksum]);
}

/** A second row with the same number. */
function repeat(v: Verification, row: ChainRow, position: Position): void {
  const last = v.last as Position;
  const isOurs = position.doubt === null && v.before.includes(row.prevChecksum);
  const isOther = isOurs && last.doubt === null && !last.checksums.includes(row.checksum);
  addFinding(v.findings, { verdict: isOther ? "FORK" : "INSERTED", seq: row.seq });
  if (isOther) last.checksums.push(row.checksum);
  // Of the two this one belongs here.
  else if (isOurs && last.doubt !== null) v.last = position;
}

function linked(v: Verification, row: ChainRow, position: Position): void {
  const last = v.last as Position;
  const { trueSeq } = last;
  if (position.doubt === null) {
    // Intact and linked, but numbers are skipped: sealed by another party.
    if (row.seq > trueSeq + 1 && row.seq > last.seq + 1) missing(v, last.seq + 1, row.seq - 1);
  } else if (foundChecksum(row, trueSeq + 1, row.prevChecksum) === row.checksum) renumbered(v, position, trueSeq + 1);
  else if (row.seq > last.seq + 1) missing(v, last.seq + 1, row.seq - 1);
  advance(v, position, last.checksums);
}

function unlinked(v: Verification, row: ChainRow, position: Position): void {
  const last = v.last as Position;
  const goesAround = !last.isSwapped && v.before.includes(row.prevChecksum);
  if (goesAround && position.doubt !== null && foundChecksum(row, last.trueSeq, row.prevChecksum) === row.checksum) {
    // The chain continues around the previous row: that one was inserted.
    const { before } = v;
    last.doubt = null;
    addFinding(v.findings, { verdict: "INSERTED", seq: last.seq });
    renumbered(v, position, last.trueSeq);
    v.last = position;
    v.before = before;
    return;
  }
  if (position.doubt === null) {
    if (last.doubt === null) {
      const reason = "the next row links to another";
      addFinding(v.findings, { verdict: "FORK", seq: last.seq, reason });
    }
  } else {
    explainDoubt(row, position, last.checksums);
  }
  if (v.wanted.length < maxWanted && row.prevChecksum) v.wanted.push(row.prevChecksum);
  advance(v, position, last.checksums);
}

/** A row whose checksum and link are both invalid: determines whether a changed link or a neighbour explains it. */
function explainDoubt(row: ChainRow, here: Position, links: readonly (string | null)[]): void {
  here.isLoose = !links.some((link) => foundChecksum(row, row.seq, link) === row.checksum);
  here.isSwapped = foundChecksum(row, row.seq + 1, row.prevChecksum) === row.checksum;
}

function renumbered(v: Verification, position: Position, trueSeq: number): void {
  position.doubt = null;
  position.trueSeq = trueSeq;
  addFinding(v.findings, { verdict: "REORDERED", seq: position.seq });
}

function advance(v: Verification, position: Position, before: (string | null)[]): void {
  settleLast(v);
  v.before = before;
  v.last = position;
}

function missing(v: Verification, first: number, last: number): void {
  if (v.gaps.length < maxGaps) v.gaps.push([first, last]);
  else addFinding(v.findings, { verdict: "DELETED", seq: first, lastSeq: last });
}

function stray(v: Verification, row: ChainRow): void {
  if (v.strays.length < maxStrays) v.strays.push(renderRow(row));
  else addFinding(v.findings, { verdict: "INSERTED", seq: row.seq });
}
