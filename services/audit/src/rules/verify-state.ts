import { type Findings, noFindings } from "./finding.ts";

/** A row's position in the chain during verification. */
export type Position = {
  /** The number it bears. */
  seq: number;
  /** The number it was sealed with, as far as it can be determined. */
  trueSeq: number;
  /** The checksums that the next row may link to: the stored one, and the one of its values. */
  checksums: (string | null)[];
  /** Why its values are in doubt; reported after the next row, which may resolve it. */
  doubt: string | null;
  /** It is in doubt and nothing ties it to its position: at the end of a chain a row from elsewhere. */
  isLoose: boolean;
  /** It is whole as the next number: swapped with its neighbour. */
  isSwapped: boolean;
};

/** A running verification: plain JSON, so that it can stop after any row and go on in another process. */
export type Verification = {
  chainId: string;
  /** Rows are a selection: what is missing between them is no loss. */
  isSelection: boolean;
  /** First seq of the request; null: from the beginning. */
  from: number | null;
  /** Last row that valid receipts declare as pruned, and the checksum that the next one links to. */
  prunedTo: number;
  base: { seq: number; checksum: string | null };
  rows: number;
  firstSeq: number | null;
  last: Position | null;
  /** What `last` links to. */
  before: (string | null)[];
  /** Rows that are missing, as ranges. */
  gaps: [number, number][];
  /** Rows out of every order, as export lines: below 1, or beyond the head with nothing between. */
  strays: string[];
  /** Checksums that some row links to and no row before it has. */
  wanted: string[];
  /** Valid checkpoints not yet compared, by seq; `atMs` is when they were signed. */
  checkpoints: { seq: number; head: string; atMs: number }[];
  /** Times that declared restores undid. */
  restores: { fromMs: number; toMs: number }[];
  /** Rows that a declared restore removed, as far as checkpoints show them. */
  restored: { seq: number; lastSeq: number } | null;
  /** Newest checkpoint that a row agreed with. */
  protectedTo: number;
  findings: Findings;
};

export type Start = {
  chainId: string;
  isSelection?: boolean;
  from?: number | null;
};

/** A verification before its first row. */
export function newVerification({ chainId, isSelection = false, from = null }: Start): Verification {
  return {
    chainId,
    isSelection,
    from,
    prunedTo: 0,
    base: { seq: 0, checksum: null },
    rows: 0,
    firstSeq: null,
    last: null,
    before: [],
    gaps: [],
    strays: [],
    wanted: [],
    checkpoints: [],
    restores: [],
    restored: null,
    protectedTo: 0,
    findings: noFindings(),
  };
}
