import type { ChainRow } from "./chain-row.ts";
/**
 * The lines of a JSONL export: one `row` per audit row in any order, then one `chain` for each chain that rows are of, then
 * one `end`. A verifier needs nothing else but the public key.
 */
export type ExportLine = ({
    type: "row";
} & ChainRow) | ({
    type: "chain";
} & ExportedChain) | ({
    type: "end";
} & ExportEnd);
export type ExportedChain = {
    chainId: string;
    /** The chain's head when the rows were read: the same snapshot. */
    headSeq: number;
    headChecksum: string | null;
    /** Every row with seq `from`..`headSeq` is in the file; null: the rows are a selection, and a missing one is no loss. */
    from: number | null;
    /** The newest checkpoint of the chain, a signed note; null when there is none yet. */
    checkpoint: string | null;
    /** Prune receipts of the chain, signed notes, oldest first; empty for a selection. */
    receipts: string[];
};
export type ExportEnd = {
    rows: number;
    /** Whether the export's limit left rows out. */
    truncated: boolean;
    /** Verifier keys of the deployment. They tell which keys to ask for; they prove nothing by standing in the file. */
    keys: string[];
    /** A signed note over `exportText`, so that a changed file shows; null when the exporter holds no key. */
    note: string | null;
};
/** One row as a line, newline included. */
export declare function renderRow(row: ChainRow): string;
/** What stands after the rows, once for each chain. */
export declare function renderChain(chain: ExportedChain): string;
/** The last line. */
export declare function renderEnd(end: ExportEnd): string;
/** Text of an export's note: `sha256` is of all bytes before the `end` line, hex. */
export declare function exportText(deployment: string, rows: number, sha256: string, at: Date): string;
/** Reads what `exportText` wrote; null when it is none, or another deployment's. */
export declare function parseExportText(text: string, deployment: string | null): {
    rows: number;
    sha256: string;
    at: Date;
} | null;
/** Reads one line; throws when it is no line of an export. Values of a row are taken as they are: its checksum judges. */
export declare function parseLine(line: string): ExportLine;
//# sourceMappingURL=export-line.d.ts.map