import { createHash } from "node:crypto";
import { type NoteVerifier, openNote, parseVerifier } from "@muster/kit";
import type { ChainRow } from "../rules/chain-row.ts";
import {
  type ExportEnd,
  type ExportedChain,
  type ExportLine,
  parseExportText,
  parseLine,
  type UnknownLine,
} from "../rules/export-line.ts";
import { type Finding, isProblem, isUnverified } from "../rules/finding.ts";
import { endVerification, newVerification, takeCheckpoints, takeReceipts, takeRow, unsigned } from "../rules/verify.ts";

export type ChainReport = {
  chainId: string;
  /** The rows are a selection: each was verified separately, and missing rows cannot be detected. */
  isSelection: boolean;
  findings: Finding[];
};

export type ExportReport = {
  /** Everything verifies. */
  ok: boolean;
  /** Not everything could be verified, and nothing else is wrong: the file has formats of a later version. */
  isUnverified: boolean;
  rows: number;
  truncated: boolean;
  /**
   * Verifier keys used, and whether the caller passed them or they come from the file: keys from the file prove
   * nothing.
   */
  keys: string[];
  keysGiven: boolean;
  /** When the export was signed; null when it was not. */
  signedAt: string | null;
  /** About the file as such. */
  file: Finding[];
  chains: ChainReport[];
};

export type ExportVerifier = {
  /** The next line, without its newline. */
  line(text: string): void;
  /** The verdicts, after the last line. */
  end(): ExportReport;
};

/**
 * Verifies a JSONL export line by line, without a database: `keys` are verifier keys from a trusted source,
 * `deployment` the name that notes must bear (null: any). Throws when a key is invalid.
 */
export function exportVerifier(options: { keys: readonly string[]; deployment: string | null }): ExportVerifier {
  const provided = options.keys.map(parseVerifier);
  const { deployment } = options;
  const file: Finding[] = [];
  const rows = new Map<string, ChainRow[]>();
  const chains = new Map<string, ExportedChain>();
  const sha256 = createHash("sha256");
  let end: ExportEnd | null = null;
  let count = 0;
  let lines = 0;
  let digest = "";

  const changed = (reason: string): void => {
    if (file.length < 100) file.push({ verdict: "FILE_CHANGED", reason });
  };

  function line(text: string): void {
    lines += 1;
    const parsed = parsedLine(text);
    if (parsed?.type === "end" && !end) {
      end = parsed;
      digest = sha256.digest("hex");
      return;
    }
    if (end) changed(`line ${lines} stands after the end`);
    else sha256.update(`${text}\n`);
    if (parsed?.type === "chain") takeChain(parsed);
    if (parsed?.type === "row") takeExported(parsed);
    if (parsed?.type === "unknown") takeUnknown(parsed);
  }

  function parsedLine(text: string): ExportLine | null {
    try {
      return parseLine(text);
    } catch (error) {
      changed(`line ${lines}: ${(error as Error).message}`);
      return null;
    }
  }

  function takeChain(chain: ExportedChain): void {
    if (chains.has(chain.chainId)) changed(`line ${lines}: chain ${chain.chainId} is said twice`);
    chains.set(chain.chainId, chain);
  }

  // The note of the file covers the line, so that it is what was exported.
  function takeUnknown({ kind }: UnknownLine): void {
    const reason = `line ${lines} is of the kind "${kind.slice(0, 40)}"`;
    if (file.length < 100) file.push({ verdict: "UNKNOWN_FORMAT", reason });
  }

  function takeExported(row: ChainRow): void {
    count += 1;
    const { chainId } = row.entry;
    const chainRows = rows.get(chainId);
    if (chainRows) chainRows.push(row);
    else rows.set(chainId, [row]);
  }

  function signedAt(verifiers: readonly NoteVerifier[]): string | null {
    if (!end) {
      changed("it has no end line: cut, or not an export");
      return null;
    }
    if (end.rows !== count) changed(`${end.rows} rows were exported, ${count} are here`);
    // What the deployment exports is signed: without that, a chain line that calls its rows a selection hides what is
    // missing.
    if (end.note === null) {
      changed("it is not signed as a whole");
      return null;
    }
    try {
      const said = parseExportText(openNote(end.note, verifiers).text, deployment);
      if (!said) throw new Error("the note says nothing of an export of this deployment");
      if (said.sha256 !== digest || said.rows !== end.rows) changed("it is not what was exported");
      return said.at.toISOString();
    } catch (error) {
      file.push({ verdict: "BAD_SIGNATURE", reason: `export: ${(error as Error).message}` });
      return null;
    }
  }

  return {
    line,
    end() {
      const verifiers = provided.length > 0 ? provided : keysOf(end, changed);
      const at = signedAt(verifiers);
      const reports = [...new Set([...chains.keys(), ...rows.keys()])].map((chainId) => {
        const chain = chains.get(chainId);
        if (!chain) changed(`rows of chain ${chainId} have no chain line`);
        return reportOf(chainId, chain, rows.get(chainId) ?? [], { verifiers, deployment }, end?.truncated ?? false);
      });
      const problems = [...file, ...reports.flatMap(({ findings }) => findings)].filter(isProblem);
      return {
        ok: problems.length === 0,
        isUnverified: problems.length > 0 && problems.every(isUnverified),
        rows: count,
        truncated: end?.truncated ?? false,
        keys: verifiers.map(({ text }) => text),
        keysGiven: provided.length > 0,
        signedAt: at,
        file,
        chains: reports,
      };
    },
  };
}

function reportOf(
  chainId: string,
  chain: ExportedChain | undefined,
  rows: readonly ChainRow[],
  trust: { verifiers: readonly NoteVerifier[]; deployment: string | null },
  isTruncated: boolean,
): ChainReport {
  const isSelection = !chain || chain.from === null;
  const v = newVerification({ chainId, isSelection, from: chain?.from ?? null });
  const receipts = (chain?.receipts ?? []).map((note) => ({ seq: null, note }));
  const sorted = [...rows].sort((a, b) => a.seq - b.seq);
  // The beginning that the head states is not in an export: only receipts excuse missing rows.
  takeReceipts(v, trust, receipts, { seq: Number.MAX_SAFE_INTEGER, checksum: null });
  v.base = { seq: v.prunedTo, checksum: null };
  if (!isSelection && !isTruncated && v.from !== null) unsigned(v, v.prunedTo + 1, v.from - 1);
  const checkpoints = chain ? [chain.checkpoint ?? [], chain.copies].flat() : [];
  takeCheckpoints(
    v,
    trust,
    checkpoints.map((note) => ({ seq: null, note })),
  );
  const head = chain ? { seq: chain.headSeq, checksum: chain.headChecksum } : null;
  // Rows go by time: an export that was cut may hold some from before the one from which on it is whole.
  const isBefore = ({ seq }: ChainRow) => isTruncated && chain?.from != null && seq < chain.from;
  for (const row of sorted) if (!isBefore(row)) takeRow(v, row, head?.seq ?? null);
  const findings = endVerification(v, isSelection && !chain ? { seq: 0, checksum: null } : head);
  return { chainId, isSelection, findings: [...findings, ...selected(chainId, sorted.filter(isBefore))] };
}

/** Findings in rows that are verified separately. */
function selected(chainId: string, rows: readonly ChainRow[]): Finding[] {
  const v = newVerification({ chainId, isSelection: true });
  for (const row of rows) takeRow(v, row, null);
  return rows.length === 0 ? [] : endVerification(v, { seq: 0, checksum: null }).filter(isProblem);
}

function keysOf(end: ExportEnd | null, changed: (reason: string) => void): NoteVerifier[] {
  return (end?.keys ?? []).flatMap((text) => {
    try {
      return [parseVerifier(text)];
    } catch {
      changed(`it names a key that is none: ${text.slice(0, 40)}`);
      return [];
    }
  });
}
