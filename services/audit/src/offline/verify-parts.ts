import { createHash } from "node:crypto";
import { messageOf, type NoteVerifier, openNote, parseVerifier } from "@muster/kit";
import { type ExportEnd, type ExportedChain, parseExportText, parseLine } from "../rules/export-line.ts";
import { type ManifestLine, type PartFacts, parseManifestLine } from "../rules/export-manifest.ts";
import { type Finding, isProblem, isUnverified } from "../rules/finding.ts";
import { endVerification, newVerification, takeCheckpoints, takeReceipts, takeRow, unsigned } from "../rules/verify.ts";
import type { Verification } from "../rules/verify-state.ts";
import type { ExportReport } from "./verify-export.ts";

/** Lines without their newlines; null for a file that is missing. */
export type Lines = AsyncIterable<string> | Iterable<string> | null;
export type PartsSource = { manifest: Lines; part(number: number): Lines };

type Options = { keys: readonly string[]; deployment: string | null };

/**
 * Verifies an export in parts from its manifest on, part by part, without a database; at no time is more than a row in
 * memory. `keys` and `deployment` as in `exportVerifier`.
 */
export async function verifyParts(source: PartsSource, options: Options): Promise<ExportReport> {
  const file: Finding[] = [];
  const changed = (reason: string) => {
    if (file.length < 100) file.push({ verdict: "FILE_CHANGED", reason });
  };
  const manifest = await readManifest(source.manifest, changed, file);
  const provided = options.keys.map(parseVerifier);
  const verifiers = provided.length > 0 ? provided : keysOf(manifest.end, changed);
  const { deployment } = options;
  const signedAt = signedTime(manifest, { verifiers, deployment }, changed, file);
  const { chain } = manifest;
  const isSelection = chain?.from === null;
  const v = started(manifest, { verifiers, deployment });
  let rows = 0;
  for (const part of manifest.parts) {
    rows += await takePart(source.part(part.number), part, v, chain, changed);
  }
  if (manifest.end && manifest.end.rows !== rows) changed(`${manifest.end.rows} rows were exported, ${rows} are here`);
  const head = chain ? { seq: chain.headSeq, checksum: chain.headChecksum } : null;
  const findings = chain ? endVerification(v, head) : [];
  const problems = [...file, ...findings].filter(isProblem);
  return {
    ok: problems.length === 0,
    isUnverified: problems.length > 0 && problems.every(isUnverified),
    rows,
    truncated: manifest.end?.truncated ?? false,
    keys: verifiers.map(({ text }) => text),
    keysGiven: provided.length > 0,
    signedAt,
    file,
    chains: chain ? [{ chainId: chain.chainId, isSelection, findings }] : [],
  };
}

type Manifest = {
  facts: Extract<ManifestLine, { type: "export" }> | null;
  parts: PartFacts[];
  checkpoints: string[];
  chain: ExportedChain | null;
  end: ExportEnd | null;
  digest: string;
};

async function readManifest(lines: Lines, changed: (reason: string) => void, file: Finding[]): Promise<Manifest> {
  const manifest: Manifest = { facts: null, parts: [], checkpoints: [], chain: null, end: null, digest: "" };
  if (lines === null) changed("the manifest is missing");
  const sha256 = createHash("sha256");
  let number = 0;
  for await (const line of lines ?? []) {
    number += 1;
    try {
      if (manifest.end) throw new Error("it stands after the end");
      const read = parseManifestLine(line) ?? parseLine(line);
      if (read.type === "end") {
        manifest.end = read;
        manifest.digest = sha256.digest("hex");
        continue;
      }
      sha256.update(`${line}\n`);
      if (read.type === "export") manifest.facts = read;
      else if (read.type === "part") manifest.parts.push(read);
      else if (read.type === "checkpoint") manifest.checkpoints.push(read.note);
      else if (read.type === "chain") manifest.chain = read;
      else file.push({ verdict: "UNKNOWN_FORMAT", reason: `line ${number} of the manifest is of an unknown kind` });
    } catch (error) {
      changed(`line ${number} of the manifest: ${messageOf(error)}`);
    }
  }
  manifest.parts.forEach((part, index) => {
    if (part.number !== index + 1) changed(`part ${index + 1} stands as ${part.number} in the manifest`);
  });
  if (!manifest.facts || !manifest.chain) changed("the manifest names no export or no chain");
  else if (manifest.facts.chainId !== manifest.chain.chainId) changed("the manifest names two chains");
  return manifest;
}

type Trust = { verifiers: readonly NoteVerifier[]; deployment: string | null };

function signedTime(
  { end, digest }: Manifest,
  { verifiers, deployment }: Trust,
  changed: (reason: string) => void,
  file: Finding[],
): string | null {
  if (!end) {
    changed("the manifest has no end line: cut, or none");
    return null;
  }
  if (end.note === null) {
    changed("the manifest is not signed");
    return null;
  }
  try {
    const said = parseExportText(openNote(end.note, verifiers).text, deployment);
    if (!said) throw new Error("the note says nothing of an export of this deployment");
    if (said.sha256 !== digest || said.rows !== end.rows) changed("the manifest is not what was exported");
    return said.at.toISOString();
  } catch (error) {
    file.push({ verdict: "BAD_SIGNATURE", reason: `manifest: ${messageOf(error)}` });
    return null;
  }
}

/** The chain's verification before its first row. */
function started({ chain, checkpoints }: Manifest, trust: Trust): Verification {
  const isSelection = !chain || chain.from === null;
  const v = newVerification({ chainId: chain?.chainId ?? "", isSelection, from: chain?.from ?? null });
  const kept = (note: string) => ({ seq: null, note });
  takeReceipts(v, trust, (chain?.receipts ?? []).map(kept), { seq: Number.MAX_SAFE_INTEGER, checksum: null });
  v.base = { seq: v.prunedTo, checksum: null };
  if (!isSelection && v.from !== null) unsigned(v, v.prunedTo + 1, v.from - 1);
  const notes = new Set([...checkpoints, ...[chain?.checkpoint ?? []].flat(), ...(chain?.copies ?? [])]);
  takeCheckpoints(v, trust, [...notes].map(kept));
  return v;
}

/** Takes the rows of a part; returns how many there are. */
async function takePart(
  lines: Lines,
  part: PartFacts,
  v: Verification,
  chain: ExportedChain | null,
  changed: (reason: string) => void,
): Promise<number> {
  const name = `part ${part.number}`;
  if (lines === null) {
    changed(`${name} is missing`);
    return 0;
  }
  const sha256 = createHash("sha256");
  let rows = 0;
  for await (const line of lines) {
    sha256.update(`${line}\n`);
    try {
      const parsed = parseLine(line);
      if (parsed.type !== "row") continue;
      rows += 1;
      if (parsed.entry.chainId !== v.chainId) changed(`${name} has a row of another chain`);
      else if (parsed.seq < (v.last?.seq ?? 0)) changed(`${name} has row ${parsed.seq} out of order`);
      else takeRow(v, parsed, chain?.headSeq ?? null);
    } catch (error) {
      changed(`${name}: ${messageOf(error)}`);
    }
  }
  const digest = sha256.digest("hex");
  if (digest !== part.sha256) changed(`${name} is not what was exported`);
  return rows;
}

function keysOf(end: ExportEnd | null, changed: (reason: string) => void): NoteVerifier[] {
  return (end?.keys ?? []).flatMap((text) => {
    try {
      return [parseVerifier(text)];
    } catch {
      changed(`the manifest names a key that is none: ${text.slice(0, 40)}`);
      return [];
    }
  });
}
