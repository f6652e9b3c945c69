import type { ChainRow } from "./chain-row.ts";

/**
 * The lines of a JSONL export: one `row` per audit row in any order, then one `chain` for each chain that rows are of,
 * then one `end`. A verifier needs nothing else but the public key.
 */
export type ExportLine =
  | ({ type: "row" } & ChainRow)
  | ({ type: "chain" } & ExportedChain)
  | ({ type: "end" } & ExportEnd)
  | UnknownLine;

/** A line of a kind that only later versions write. */
export type UnknownLine = { type: "unknown"; kind: string };

export type ExportedChain = {
  chainId: string;
  /** The chain's head in the snapshot of the rows. */
  headSeq: number;
  headChecksum: string | null;
  /**
   * Every row with seq `from`..`headSeq` is in the file; null: the rows are a selection, and a missing one is no loss.
   */
  from: number | null;
  /** The newest checkpoint of the chain, a signed note; null when there is none yet. */
  checkpoint: string | null;
  /**
   * Its newest checkpoints kept outside of the database, signed notes no younger than the rows; empty for a selection.
   */
  copies: string[];
  /** Prune receipts of the chain, signed notes, oldest first; empty for a selection. */
  receipts: string[];
};

export type ExportEnd = {
  rows: number;
  /** Whether the export was truncated at its limit. */
  truncated: boolean;
  /** Verifier keys of the deployment. They identify the keys to obtain; keys in the file prove nothing. */
  keys: string[];
  /** A signed note over `exportText`, so that a changed file shows; null when the exporter holds no key. */
  note: string | null;
};

/** One row as a line, newline included. */
export function renderRow(row: ChainRow): string {
  const { chainId, timestamp, ...fields } = row.entry;
  return `${JSON.stringify({
    type: "row",
    chainId,
    seq: row.seq,
    timestamp: textOf(timestamp),
    ...fields,
    format: row.format,
    personalSalt: row.personalSalt.toString("hex"),
    ...(row.personalDigest === null ? {} : { personalDigest: row.personalDigest }),
    checksum: row.checksum,
    prevChecksum: row.prevChecksum,
  })}\n`;
}

/** The line of a chain, after the rows. */
export function renderChain(chain: ExportedChain): string {
  return `${JSON.stringify({ type: "chain", ...chain })}\n`;
}

/** The last line. */
export function renderEnd(end: ExportEnd): string {
  return `${JSON.stringify({ type: "end", ...end })}\n`;
}

/** Text of an export's note: `sha256` is of all bytes before the `end` line, hex. */
export function exportText(deployment: string, rows: number, sha256: string, at: Date): string {
  return `${deployment}/audit/export\n${rows}\n${sha256}\n${at.toISOString()}\n`;
}

/** Reads what `exportText` wrote; null when it is none, or another deployment's. */
export function parseExportText(
  text: string,
  deployment: string | null,
): { rows: number; sha256: string; at: Date } | null {
  const [, signedDeployment, rows = "", sha256 = "", at = ""] =
    /^(.+)\/audit\/export\n(\d+)\n([0-9a-f]{64})\n(\S+)\n$/.exec(text) ?? [];
  if (signedDeployment === undefined || (deployment !== null && signedDeployment !== deployment)) return null;
  return { rows: Number(rows), sha256, at: new Date(at) };
}

/**
 * Parses one line; throws when it is not a line of an export. Values of a row are accepted unchecked: its checksum
 * covers them.
 */
export function parseLine(line: string): ExportLine {
  const object = JSON.parse(line) as Record<string, unknown> | null;
  switch (object?.type) {
    case "row":
      return { type: "row", ...rowOf(object) };
    case "chain": {
      const { chainId, headSeq, headChecksum, from, checkpoint, copies, receipts } = object as unknown as ExportedChain;
      const isChain =
        typeof chainId === "string" &&
        Number.isSafeInteger(headSeq) &&
        isTextOrNull(headChecksum) &&
        (from === null || Number.isSafeInteger(from)) &&
        isTextOrNull(checkpoint) &&
        isTexts(copies) &&
        isTexts(receipts);
      if (!isChain) throw new Error("a chain line is malformed");
      return { type: "chain", chainId, headSeq, headChecksum, from, checkpoint, copies, receipts };
    }
    case "end": {
      const { rows, truncated, keys, note } = object as unknown as ExportEnd;
      const isEnd = Number.isSafeInteger(rows) && isTexts(keys) && isTextOrNull(note);
      if (!isEnd) throw new Error("the end line is malformed");
      return { type: "end", rows, truncated: truncated === true, keys, note };
    }
    default:
      if (typeof object?.type !== "string") throw new Error("not a line of an export");
      return { type: "unknown", kind: object.type };
  }
}

function rowOf(object: Record<string, unknown>): ChainRow {
  const { type: _, seq, format, personalSalt, personalDigest, checksum, prevChecksum, timestamp, ...fields } = object;
  const hasPosition = Number.isSafeInteger(seq) && typeof fields.chainId === "string";
  const isSealed = Number.isSafeInteger(format) && typeof checksum === "string";
  if (!hasPosition || !isSealed) throw new Error("a row has no seq, chain, format or checksum");
  return {
    entry: {
      ...fields,
      timestamp: new Date(typeof timestamp === "string" ? timestamp : Number.NaN),
    } as ChainRow["entry"],
    seq: seq as number,
    format: format as number,
    personalSalt: Buffer.from(typeof personalSalt === "string" ? personalSalt : "", "hex"),
    personalDigest: typeof personalDigest === "string" ? personalDigest : null,
    checksum,
    prevChecksum: typeof prevChecksum === "string" ? prevChecksum : null,
  };
}

// A tampered time may be infinite; it must not prevent the other findings.
function textOf(time: Date): string | null {
  return time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : null;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}
