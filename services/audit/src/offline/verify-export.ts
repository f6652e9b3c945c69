import { createHash } from "node:crypto";
import { messageOf, type NoteVerifier, openNote, parseVerifier } from "@muster/kit";
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
  return new Verification(options);
}

class Verification implements ExportVerifier {
  readonly #provided;
  readonly #deployment;
  readonly #file: Finding[] = [];
  readonly #rows = new Map<string, ChainRow[]>();
  readonly #chains = new Map<string, ExportedChain>();
  readonly #sha256 = createHash("sha256");
  #end: ExportEnd | null = null;
  #count = 0;
  #lines = 0;
  #digest = "";

  constructor(options: { keys: readonly string[]; deployment: string | null }) {
    this.#provided = options.keys.map(parseVerifier);
    const { deployment } = options;
    this.#deployment = deployment;
  }

  readonly #changed = (reason: string): void => {
    if (this.#file.length < 100) this.#file.push({ verdict: "FILE_CHANGED", reason });
  };

  readonly line = (text: string): void => {
    this.#lines += 1;
    const parsed = this.#parsedLine(text);
    if (parsed?.type === "end" && !this.#end) {
      this.#end = parsed;
      this.#digest = this.#sha256.digest("hex");
      return;
    }
    if (this.#end) this.#changed(`line ${this.#lines} stands after the end`);
    else this.#sha256.update(`${text}\n`);
    if (parsed?.type === "chain") this.#takeChain(parsed);
    if (parsed?.type === "row") this.#takeExported(parsed);
    if (parsed?.type === "unknown") this.#takeUnknown(parsed);
  };

  #parsedLine(text: string): ExportLine | null {
    try {
      return parseLine(text);
    } catch (error) {
      this.#changed(`line ${this.#lines}: ${messageOf(error)}`);
      return null;
    }
  }

  #takeChain(chain: ExportedChain): void {
    if (this.#chains.has(chain.chainId)) this.#changed(`line ${this.#lines}: chain ${chain.chainId} is said twice`);
    this.#chains.set(chain.chainId, chain);
  }

  // The note of the file covers the line, so that it is what was exported.
  #takeUnknown({ kind }: UnknownLine): void {
    const reason = `line ${this.#lines} is of the kind "${kind.slice(0, 40)}"`;
    if (this.#file.length < 100) this.#file.push({ verdict: "UNKNOWN_FORMAT", reason });
  }

  #takeExported(row: ChainRow): void {
    this.#count += 1;
    const { chainId } = row.entry;
    const chainRows = this.#rows.get(chainId);
    if (chainRows) chainRows.push(row);
    else this.#rows.set(chainId, [row]);
  }

  #signedAt(verifiers: readonly NoteVerifier[]): string | null {
    if (!this.#end) {
      this.#changed("it has no end line: cut, or not an export");
      return null;
    }
    if (this.#end.rows !== this.#count) this.#changed(`${this.#end.rows} rows were exported, ${this.#count} are here`);
    // What the deployment exports is signed: without that, a chain line that calls its rows a selection hides what is
    // missing.
    if (this.#end.note === null) {
      this.#changed("it is not signed as a whole");
      return null;
    }
    try {
      const said = parseExportText(openNote(this.#end.note, verifiers).text, this.#deployment);
      if (!said) throw new Error("the note says nothing of an export of this deployment");
      if (said.sha256 !== this.#digest || said.rows !== this.#end.rows) this.#changed("it is not what was exported");
      return said.at.toISOString();
    } catch (error) {
      this.#file.push({ verdict: "BAD_SIGNATURE", reason: `export: ${messageOf(error)}` });
      return null;
    }
  }

  readonly end = (): ExportReport => {
    const verifiers = this.#provided.length > 0 ? this.#provided : keysOf(this.#end, this.#changed);
    const at = this.#signedAt(verifiers);
    const reports = [...new Set([...this.#chains.keys(), ...this.#rows.keys()])].map((chainId) => {
      const chain = this.#chains.get(chainId);
      if (!chain) this.#changed(`rows of chain ${chainId} have no chain line`);
      return reportOf(
        chainId,
        chain,
        this.#rows.get(chainId) ?? [],
        { verifiers, deployment: this.#deployment },
        this.#end?.truncated ?? false,
      );
    });
    const problems = [...this.#file, ...reports.flatMap(({ findings }) => findings)].filter(isProblem);
    return {
      ok: problems.length === 0,
      isUnverified: problems.length > 0 && problems.every(isUnverified),
      rows: this.#count,
      truncated: this.#end?.truncated ?? false,
      keys: verifiers.map(({ text }) => text),
      keysGiven: this.#provided.length > 0,
      signedAt: at,
      file: this.#file,
      chains: reports,
    };
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
