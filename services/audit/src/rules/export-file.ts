import { createHash } from "node:crypto";
import { type NoteSigner, type NoteVerifier, signNote } from "@muster/kit";
import type { ChainRow } from "./chain-row.ts";
import type { CsvTable } from "./csv.ts";
import { type ExportedChain, exportText, renderChain, renderEnd, renderRow } from "./export-line.ts";

/** Which columns a CSV file has; JSON lines have everything, or they would not verify. */
export type ExportFormat = { format: "csv"; table: CsvTable } | { format: "jsonl" };

/** Writes an export incrementally; each call returns the next part of the file. */
export type ExportFile = { begin(): string; rows(rows: readonly ChainRow[]): string; end(): string };

type Facts = {
  chains: ReadonlyMap<string, Omit<ExportedChain, "copies"> & { baseSeq: number }>;
  /** By chain. */
  copies: ReadonlyMap<string, string[]>;
  truncated: boolean;
  deployment: string;
  signer: NoteSigner;
  verifiers: readonly NoteVerifier[];
  now: () => Date;
};

export function exportFile(as: ExportFormat, facts: Facts): ExportFile {
  return as.format === "csv" ? csvFile(as.table, facts) : jsonlFile(facts);
}

function csvFile({ header, line }: CsvTable, { chains }: Facts): ExportFile {
  // As the API shows it: the earliest retained row links to nothing.
  const shown = (row: ChainRow): ChainRow =>
    row.seq === (chains.get(row.entry.chainId)?.baseSeq ?? 0) + 1 ? { ...row, prevChecksum: null } : row;
  return {
    begin: () => header,
    rows: (rows) => rows.map((row) => line(shown(row))).join(""),
    end: () => "",
  };
}

/**
 * Verifies by itself: checksums in each row, heads, checkpoints and receipts of the chains, a signed digest of it all.
 */
function jsonlFile({ chains, copies, truncated, deployment, signer, verifiers, now }: Facts): ExportFile {
  const digest = createHash("sha256");
  let count = 0;
  const counted = (text: string) => {
    digest.update(text);
    return text;
  };
  return {
    begin: () => "",
    rows(rows) {
      count += rows.length;
      return counted(rows.map(renderRow).join(""));
    },
    end() {
      const lines = [...chains.values()]
        .map(({ baseSeq: _, ...chain }) => renderChain({ ...chain, copies: copies.get(chain.chainId) ?? [] }))
        .join("");
      counted(lines);
      const note = signNote(exportText(deployment, count, digest.digest("hex"), now()), signer);
      return lines + renderEnd({ rows: count, truncated, keys: verifiers.map(({ text }) => text), note });
    },
  };
}
