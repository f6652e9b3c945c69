import { messageOf, type NoteVerifier, openNote } from "@muster/kit";
import { parseCheckpoint } from "./checkpoint.ts";
import { addFinding } from "./finding.ts";
import { parseReceipt, type Receipt } from "./receipt.ts";
import { parseRestore, wasUndone } from "./restore.ts";
import type { Verification } from "./verify-state.ts";

export type Trust = {
  verifiers: readonly NoteVerifier[];
  /** Name that notes must bear; null accepts any. */
  deployment: string | null;
};

/** A stored note; `seq` is the value in its record, null where there is none. */
export type KeptNote = { seq: number | null; note: string };

/**
 * Takes the chain's receipts, oldest first, and the beginning that its head states. Before the first row, and again
 * when the base has moved meanwhile.
 */
export function takeReceipts(
  v: Verification,
  trust: Trust,
  receipts: readonly KeptNote[],
  base: { seq: number; checksum: string | null },
): void {
  v.base = base;
  if (v.prunedTo === 0 && v.before.length === 0) v.before = [null];
  const prunedBefore = v.prunedTo;
  for (const { seq, note } of receipts) {
    if (seq !== null && seq <= prunedBefore) continue;
    const receipt = opened(v, trust, note, seq, (text) => parseReceipt(text, trust.deployment));
    // A repeated receipt adds nothing.
    if (!receipt || receipt.lastSeq <= v.prunedTo) continue;
    if (receipt.firstSeq > v.prunedTo + 1) unsigned(v, v.prunedTo + 1, receipt.firstSeq - 1);
    pruned(v, receipt);
  }
  if (base.seq < v.prunedTo && !v.isSelection) {
    addFinding(v.findings, { verdict: "HEAD_MISMATCH", expected: v.prunedTo, have: base.seq, reason: "base" });
  }
  if (v.from !== null && v.from <= v.prunedTo + 1) v.from = null;
}

/** Rows removed as a prune without a signed receipt. */
export function unsigned(v: Verification, seq: number, lastSeq: number): void {
  addFinding(v.findings, { verdict: "PRUNED_PREFIX", seq, lastSeq, reason: "receipt missing" });
}

function pruned(v: Verification, { lastSeq, lastChecksum }: Receipt): void {
  v.prunedTo = lastSeq;
  if (!v.last || v.last.seq <= lastSeq) {
    v.last = null;
    v.before = [lastChecksum];
  }
  const { list } = v.findings;
  const existing = list.find(({ verdict, reason }) => verdict === "PRUNED_PREFIX" && reason === undefined);
  if (existing) existing.lastSeq = lastSeq;
  else list.unshift({ verdict: "PRUNED_PREFIX", seq: 1, lastSeq });
}

/** Takes checkpoints of later rows, and declared restores, in any order. */
export function takeCheckpoints(v: Verification, trust: Trust, notes: readonly KeptNote[]): void {
  for (const { seq, note } of notes) {
    const said = opened(
      v,
      trust,
      note,
      seq,
      (text) => parseRestore(text, trust.deployment) ?? parseCheckpoint(text, trust.deployment),
    );
    if (!said) continue;
    if ("restoredTo" in said) {
      v.restores.push({ fromMs: said.restoredTo.getTime(), toMs: said.declaredAt.getTime() });
      continue;
    }
    const { head, at } = said;
    if (v.checkpoints.some((c) => c.seq === said.seq && c.head === head)) continue;
    v.checkpoints.push({ seq: said.seq, head, atMs: at.getTime() });
  }
  v.checkpoints.sort((a, b) => a.seq - b.seq);
}

/** Compares the row at `trueSeq` with the checkpoints up to it. */
export function compareCheckpoints(v: Verification, trueSeq: number, checksums: readonly (string | null)[]): void {
  while (v.checkpoints[0] && v.checkpoints[0].seq <= trueSeq) {
    const { seq, head, atMs } = v.checkpoints.shift() as Verification["checkpoints"][number];
    // The checkpoint of a missing row: its absence is reported separately.
    if (seq < trueSeq) continue;
    if (checksums.includes(head)) v.protectedTo = seq;
    else if (wasUndone(v.restores, atMs)) restored(v, seq);
    else addFinding(v.findings, { verdict: "CHECKPOINT_MISMATCH", seq });
  }
}

/** Checkpoints beyond the chain's end that a declared restore explains; the others stay. */
export function excludeRestored(v: Verification, endSeq: number): void {
  v.checkpoints = v.checkpoints.filter(({ seq, atMs }) => {
    if (seq <= endSeq || !wasUndone(v.restores, atMs)) return true;
    restored(v, seq);
    return false;
  });
}

function restored(v: Verification, seq: number): void {
  const { seq: first, lastSeq } = v.restored ?? { seq, lastSeq: seq };
  v.restored = { seq: Math.min(first, seq), lastSeq: Math.max(lastSeq, seq) };
}

function opened<T extends { chainId: string } | { restoredTo: Date }>(
  v: Verification,
  trust: Trust,
  note: string,
  seq: number | null,
  parse: (text: string) => T | null,
): T | null {
  const bad = (reason: string) => {
    addFinding(v.findings, { verdict: "BAD_SIGNATURE", ...(seq === null ? {} : { seq }), reason });
    return null;
  };
  let text: string;
  try {
    text = openNote(note, trust.verifiers).text;
  } catch (error) {
    return bad(messageOf(error));
  }
  const parsed = parse(text);
  if (!parsed) return bad("the note says nothing of this kind or deployment");
  if ("chainId" in parsed && parsed.chainId !== v.chainId) return bad("the note is another chain's");
  const position = "lastSeq" in parsed ? parsed.lastSeq : "seq" in parsed ? parsed.seq : null;
  return seq !== null && position !== seq ? bad("the record beside the note says another position") : parsed;
}
