import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { NoteSigner, NoteVerifier } from "@muster/kit";
import type { ChainRow } from "./chain-row.ts";
import { type ExportFile, exportFile } from "./export-file.ts";
import type { ExportStart } from "./export-job.ts";

const compress = promisify(gzip);

export type PartDeps = {
  deployment: string;
  signer: NoteSigner;
  verifiers: readonly NoteVerifier[];
  now: () => Date;
};

/** A finished file: its text compressed, with what a manifest says of it. */
export type WrittenFile = {
  rows: number;
  firstSeq: number | null;
  lastSeq: number | null;
  bytes: number;
  sha256: string;
  content: Buffer;
};

/** A part while it is written: an export of its own, of selected rows of one chain, so that it verifies alone, too. */
export class PartFile {
  readonly #file: ExportFile;
  readonly #texts: Buffer[] = [];
  readonly #sha256 = createHash("sha256");
  #firstSeq: number | null = null;
  #lastSeq: number | null = null;
  rows = 0;

  constructor(deps: PartDeps, chainId: string, { headSeq, headChecksum, baseSeq }: ExportStart) {
    const chain = { chainId, headSeq, headChecksum, from: null, checkpoint: null, receipts: [], baseSeq };
    const facts = { ...deps, chains: new Map([[chainId, chain]]), copies: new Map(), truncated: false };
    this.#file = exportFile({ format: "jsonl" }, facts);
    this.#add(this.#file.begin());
  }

  #add(text: string): void {
    const bytes = Buffer.from(text);
    this.#sha256.update(bytes);
    this.#texts.push(bytes);
  }

  readonly add = (rows: readonly ChainRow[]): void => {
    if (rows.length === 0) return;
    this.#firstSeq ??= rows[0]?.seq ?? null;
    this.#lastSeq = rows.at(-1)?.seq ?? this.#lastSeq;
    this.rows += rows.length;
    this.#add(this.#file.rows(rows));
  };

  readonly end = async (): Promise<WrittenFile> => {
    this.#add(this.#file.end());
    const whole = Buffer.concat(this.#texts);
    const [firstSeq, lastSeq] = [this.#firstSeq, this.#lastSeq];
    const sha256 = this.#sha256.digest("hex");
    return { rows: this.rows, firstSeq, lastSeq, bytes: whole.length, sha256, content: await compress(whole) };
  };
}

/** The manifest as a file. */
export async function manifestFile(text: string): Promise<WrittenFile> {
  const bytes = Buffer.from(text);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { rows: 0, firstSeq: null, lastSeq: null, bytes: bytes.length, sha256, content: await compress(bytes) };
}
