import { createHash } from "node:crypto";
import { type NoteSigner, type NoteVerifier, signNote } from "@muster/kit";
import type { NamedFilter } from "./export-job.ts";
import { type ExportedChain, exportText, renderChain, renderEnd } from "./export-line.ts";

/** One part as the manifest names it: `sha256` and `bytes` are of its text, before it is compressed. */
export type PartFacts = {
  number: number;
  rows: number;
  firstSeq: number | null;
  lastSeq: number | null;
  bytes: number;
  sha256: string;
};

/** The first line of a manifest. */
export type ExportFacts = {
  id: string;
  chainId: string;
  orgId: string | null;
  format: "jsonl";
  filter: NamedFilter;
};

type Manifest = {
  facts: ExportFacts;
  parts: readonly PartFacts[];
  /** Signed notes over rows of the export, oldest first. */
  checkpoints: readonly string[];
  chain: ExportedChain;
  deployment: string;
  signer: NoteSigner;
  verifiers: readonly NoteVerifier[];
  at: Date;
};

/**
 * The manifest of an export in parts: JSON lines `export`, `part` in order, `checkpoint`, `chain` and `end`. The note
 * of `end` signs everything before it (docs/operations/audit-export-format.md).
 */
export function renderExportManifest(manifest: Manifest): string {
  const { facts, parts, checkpoints, chain, deployment, signer, verifiers, at } = manifest;
  const line = (type: string, value: object) => `${JSON.stringify({ type, ...value })}\n`;
  const text = [
    line("export", { version: 1, ...facts }),
    ...parts.map((part) => line("part", part)),
    ...checkpoints.map((note) => line("checkpoint", { note })),
    renderChain(chain),
  ].join("");
  const rows = parts.reduce((sum, part) => sum + part.rows, 0);
  const sha256 = createHash("sha256").update(text).digest("hex");
  const note = signNote(exportText(deployment, rows, sha256, at), signer);
  return text + renderEnd({ rows, truncated: false, keys: verifiers.map(({ text: key }) => key), note });
}

export type ManifestLine =
  | ({ type: "export" } & ExportFacts)
  | ({ type: "part" } & PartFacts)
  | { type: "checkpoint"; note: string };

/** A line that only manifests have; null for another kind. Throws when it is malformed. */
export function parseManifestLine(line: string): ManifestLine | null {
  const object = JSON.parse(line) as Record<string, unknown> | null;
  switch (object?.type) {
    case "export": {
      if (object.version !== 1) return null;
      if (typeof object.chainId !== "string" || typeof object.id !== "string")
        throw new Error("an export line is malformed");
      return object as ManifestLine;
    }
    case "part": {
      const { number, rows, sha256 } = object;
      const isPart = [number, rows].every(Number.isSafeInteger) && typeof sha256 === "string";
      if (!isPart) throw new Error("a part line is malformed");
      return object as ManifestLine;
    }
    case "checkpoint":
      if (typeof object.note !== "string") throw new Error("a checkpoint line is malformed");
      return { type: "checkpoint", note: object.note };
    default:
      return null;
  }
}
