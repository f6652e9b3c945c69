import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createGunzip, gunzipSync } from "node:zlib";
import type { components, MusterClient } from "@muster/client";
import { connect } from "../connection.ts";
import { runProgram } from "../external.ts";
import { done, exits, Failure, streamOf } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { call } from "./records.ts";

type AuditExport = components["schemas"]["AuditExport"];
type Part = { number: number; rows: number; sha256: string };

export type PartsOptions = Globals & {
  org?: string;
  parts: string;
  resume?: string;
  filters: Readonly<Record<string, string>>;
  key?: string[];
  deployment?: string;
};

const pollMs = 500;

/**
 * Exports a chain in parts into a folder and verifies them. Files that are whole already are not read again, so that
 * the same command with `--resume ID` continues. Fails with a sentence when anything is missing or does not verify.
 */
export async function exportParts(io: Io, options: PartsOptions): Promise<void> {
  const { muster } = connect(io, options);
  const folder = options.parts;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const job = await ended(io, muster, options.resume ?? (await started(muster, options)));
  if (job.status === "expired")
    throw new Failure(exits.missing, "the parts of this export were removed: start another");
  if (job.status !== "done") throw new Failure(exits.failed, job.error ?? `the export is ${job.status}`);
  const manifest = join(folder, "manifest.jsonl.gz");
  await download(muster, job.id, null, manifest);
  const parts = partsIn(manifest);
  for (const part of parts) {
    const file = join(folder, `part-${String(part.number).padStart(6, "0")}.jsonl.gz`);
    if (!(await isWhole(file, part))) await download(muster, job.id, part.number, file);
    if (!(await isWhole(file, part))) throw new Failure(exits.failed, `${file} was cut, or is not what was exported`);
    io.stderr.write(`part ${part.number} of ${parts.length}, ${part.rows} rows\n`);
  }
  const rows = parts.reduce((sum, part) => sum + part.rows, 0);
  if (rows !== job.rows)
    throw new Failure(exits.failed, `the export has ${job.rows} rows, its manifest ${rows}: it was cut`);
  const keys = (options.key ?? []).flatMap((key) => ["--key", key]);
  const name = options.deployment === undefined ? [] : ["--deployment", options.deployment];
  const code = await runProgram("audit", ["verify", folder, ...keys, ...name, ...(options.json ? ["--json"] : [])]);
  if (code !== 0) throw new Failure(code, `the export in ${folder} does not verify`);
}

/** Filters whose values are a list in the body, where the query has commas. */
const lists = ["actions", "excludeActions", "excludeTargetTypes"];

async function started(muster: MusterClient, { org, filters }: PartsOptions): Promise<string> {
  const named = Object.entries(filters).map(([name, value]) => [name, lists.includes(name) ? value.split(",") : value]);
  const body = { ...(org ? { orgId: org } : {}), ...Object.fromEntries(named) };
  return String((await call(muster, "POST", "/api/v1/audit-logs/exports", { body })).id);
}

/** The export once it has ended; its progress is shown meanwhile. */
async function ended(io: Io, muster: MusterClient, id: string): Promise<AuditExport> {
  for (let shown = ""; ; await sleep(pollMs)) {
    const job: AuditExport = await done(muster.GET("/api/v1/audit-logs/exports/{id}", { params: { path: { id } } }));
    const text = `export ${id}: ${job.status}, ${job.rows} rows, row ${job.seenSeq} of ${job.headSeq}\n`;
    if (text !== shown) io.stderr.write(text);
    shown = text;
    if (job.status !== "queued" && job.status !== "running") return job;
  }
}

/** Written under another name first: a file that is there is whole. */
async function download(muster: MusterClient, id: string, part: number | null, file: string): Promise<void> {
  const query = part === null ? {} : { part: String(part) };
  const path = "/api/v1/audit-logs/exports/{id}/file";
  const { source } = await streamOf(muster.GET(path, { params: { path: { id }, query }, parseAs: "stream" }));
  await pipeline(source, createWriteStream(`${file}.partial`, { mode: 0o600 }));
  renameSync(`${file}.partial`, file);
}

/** The parts that a manifest names; it is verified later, with all of them. */
function partsIn(manifest: string): Part[] {
  const lines = gunzipSync(readFileSync(manifest)).toString().trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as { type: string } & Part).filter(({ type }) => type === "part");
}

async function isWhole(file: string, { sha256 }: Part): Promise<boolean> {
  if (!existsSync(file)) return false;
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(file), createGunzip(), hash);
  } catch {
    // Not gzip to its end: as good as absent.
    return false;
  }
  return hash.digest("hex") === sha256;
}
