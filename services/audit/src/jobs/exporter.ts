import { type Database, type Job, jobs } from "@muster/db";
import { counter, type Logger, systemCaller } from "@muster/kit";
import {
  type ExportCursor,
  type ExportInput,
  exportKind,
  filterNamed,
  isWholeChain,
  partRows,
} from "../rules/export-job.ts";
import { renderExportManifest } from "../rules/export-manifest.ts";
import { notesUpTo } from "../rules/notes-up-to.ts";
import { manifestFile, type PartDeps, PartFile } from "../rules/part-file.ts";
import { matchingRows, notesOf, partsOf, startOf, storePart } from "../store/export-parts.ts";
import { type Worker, type WorkTimes, workThrough } from "./work-through.ts";

export type ExporterDeps = PartDeps &
  WorkTimes & {
    db: Database;
    log: Logger;
    /** Newest checkpoints of a chain kept outside of the database, as signed notes. */
    copies(chainId: string): Promise<string[]>;
    /** Milliseconds between two signs of life within a part. */
    saveMs?: number;
    /** Rows read by one statement. */
    windowRows?: number;
  };

const who = { caller: systemCaller("audit") };
const finished = counter("muster_audit_export_jobs_total", "Exports in parts that ended", ["outcome"]);
const mostCheckpoints = 1_000;

/** Works through exports in parts; one that another process began continues behind its last stored part. */
export function startExporter(deps: ExporterDeps): Worker {
  const { log } = deps;
  return workThrough(
    deps,
    exportKind,
    (job, signal) => runExport(deps, job, signal),
    (err, job) => log.error({ err, jobId: job?.id }, "export cannot continue now, tried again"),
  );
}

/**
 * Writes the parts of a claimed export from where it stands, and then its manifest; until its end, the abortion of
 * `signal`, or, after a part, while another one waits.
 */
export async function runExport(deps: ExporterDeps, job: Job, signal: AbortSignal): Promise<void> {
  const work = jobs(deps.db);
  const input = job.input as ExportInput;
  const cursor = (job.cursor as ExportCursor | null) ?? (await begin(deps, job, input));
  while (cursor.seq < cursor.start.headSeq) {
    const written = await writePart(deps, job, cursor, signal);
    if (written === "stopped") return;
    if (written === "pruned") {
      finished.inc({ outcome: "failed" });
      return work.fail(job, "Retention removed rows while they were exported: start the export again");
    }
    if (await work.giveWay(job, cursor)) return;
  }
  await finish(deps, job, input, cursor);
  finished.inc({ outcome: "done" });
  deps.log.info({ jobId: job.id, chainId: input.chainId, rows: cursor.rows, parts: cursor.parts }, "audit export done");
}

async function begin({ db }: ExporterDeps, job: Job, { chainId }: ExportInput): Promise<ExportCursor> {
  const start = await startOf(db, chainId);
  const cursor: ExportCursor = { start, seq: start.baseSeq, seenSeq: start.baseSeq, rows: 0, parts: 0 };
  await jobs(db).progress(job, cursor);
  return cursor;
}

/** The next part, stored together with the position behind it. */
async function writePart(
  deps: ExporterDeps,
  job: Job,
  cursor: ExportCursor,
  signal: AbortSignal,
): Promise<"written" | "stopped" | "pruned"> {
  const { db, saveMs = 2_000, windowRows = 2_000 } = deps;
  const { chainId, filter: named } = job.input as ExportInput;
  const filter = filterNamed(named);
  const part = new PartFile(deps, chainId, cursor.start);
  let [seq, savedMs] = [cursor.seq, performance.now()];
  while (seq < cursor.start.headSeq && part.rows < partRows) {
    if (signal.aborted) return "stopped";
    const toSeq = Math.min(seq + windowRows, cursor.start.headSeq);
    const { rows, isWhole } = await matchingRows(db, { chainId, afterSeq: seq, toSeq }, filter);
    if (!isWhole) return "pruned";
    const taken = rows.slice(0, partRows - part.rows);
    part.add(taken);
    seq = taken.length < rows.length ? (taken.at(-1)?.seq ?? seq) : toSeq;
    cursor.seenSeq = seq;
    if (performance.now() - savedMs < saveMs) continue;
    await jobs(db).progress(job, cursor);
    savedMs = performance.now();
  }
  if (part.rows === 0) {
    cursor.seq = seq;
    await jobs(db).progress(job, cursor);
    return "written";
  }
  const file = await part.end();
  const next = { ...cursor, seq, rows: cursor.rows + file.rows, parts: cursor.parts + 1 };
  await db.tx(who, async (tx) => {
    await storePart(tx, job.id, next.parts, file);
    await jobs(db).progress(job, next, tx);
  });
  Object.assign(cursor, next);
  return "written";
}

async function finish(deps: ExporterDeps, job: Job, input: ExportInput, cursor: ExportCursor): Promise<void> {
  const { db } = deps;
  const { chainId, orgId, filter } = input;
  const { headSeq, headChecksum, baseSeq } = cursor.start;
  const isWhole = isWholeChain(filter);
  const { checkpoints, receipts } = await notesOf(db, chainId, headSeq, isWhole ? mostCheckpoints : 1);
  const copies = isWhole ? notesUpTo(await deps.copies(chainId), deps.verifiers, headSeq) : [];
  const text = renderExportManifest({
    ...deps,
    facts: { id: job.id, chainId, orgId, format: "jsonl", filter },
    parts: await partsOf(db, job.id),
    checkpoints,
    chain: {
      chainId,
      headSeq,
      headChecksum,
      from: isWhole ? baseSeq + 1 : null,
      checkpoint: checkpoints.at(-1) ?? null,
      copies,
      receipts: isWhole ? receipts : [],
    },
    at: deps.now(),
  });
  const file = await manifestFile(text);
  await db.tx(who, async (tx) => {
    await storePart(tx, job.id, 0, file);
    await jobs(db).finish(job, { rows: cursor.rows, parts: cursor.parts }, tx);
  });
}
