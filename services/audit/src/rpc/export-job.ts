import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type Job, jobs } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, systemCaller, uuidv7, validationError } from "@muster/kit";
import { type ExportJob, ExportJobSchema, ExportJobService } from "@muster/proto/muster/audit/v1/export_job_pb";
import { ExportFormat } from "@muster/proto/muster/audit/v1/export_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, checkedBefore, idempotentTx, requirePermission, type TenantReader } from "@muster/service";
import { type ExportCursor, type ExportInput, expiresAt, exportKind, namedFilter } from "../rules/export-job.ts";
import { rangeOf } from "../rules/range.ts";
import { listJobs } from "../store/chain-jobs.ts";
import { countExports, partContent, removeExport } from "../store/export-parts.ts";
import { readableRange } from "../store/logs.ts";
import { ownChain, tenantOfChain } from "../store/proof.ts";
import { filterOf, orgIdOf } from "./log-messages.ts";
import { isVisibleChain } from "./visible-chain.ts";

export type ExportJobDeps = TenantReader & {
  now: () => Date;
  /** Exports that a chain may have open or kept. */
  exportsPerChain: number;
  /** Called when an export was queued. */
  queued(): void;
};

type Handlers = ServiceImpl<typeof ExportJobService>;
const chunkBytes = 65_536;

/** Exports in parts; those of chains that the caller does not read do not exist for it. */
export function exportJobService(deps: ExportJobDeps): Handlers {
  return { startExport: startExport(deps), ...exportReads(deps), deleteExport: deleteExport(deps) };
}

function startExport(deps: ExportJobDeps): Handlers["startExport"] {
  const { db, now } = deps;
  return async (request, handler) => {
    const context = callContext(handler);
    requirePermission(context, "audit:export");
    if (request.format !== ExportFormat.JSONL) throw validationError({ format: ["Must be jsonl"] });
    const wanted = request.filter;
    if (!wanted) throw validationError({ filter: ["Required"] });
    const filter = namedFilter(filterOf(wanted));
    const orgId = orgIdOf(wanted.orgId);
    await readableRange(deps, context, orgId);
    const chainId = orgId ?? ownChain(context);
    const tenant = await tenantOfChain(db, context, chainId);
    if ((await countExports(db, chainId)) >= deps.exportsPerChain) {
      throw new AppError("limit_reached", "The audit chain's limit of exports is reached: delete one", {
        facts: { limit: deps.exportsPerChain },
      });
    }
    const at = now();
    const input: ExportInput = { chainId, ...tenant, filter, createdBy: context.caller.actor.id };
    const job = { id: uuidv7(at.getTime()), state: "queued" as const, input, createdAt: at };
    const { method } = ExportJobService;
    const reply = await idempotentTx(db, context, method.startExport, request, checkedBefore, async (tx) => {
      const where = { owner: tenant.partnerId ?? chainId, openKey: job.id, waitingKeys: [job.id] };
      await jobs(db).offer({ kind: exportKind, id: job.id, input, ...where }, tx);
      tx.emit(exportRow(context, job, { operation: "start", filter }));
      return { export: exportOf(job, at) };
    });
    deps.queued();
    return reply;
  };
}

function exportReads(deps: ExportJobDeps): Pick<Handlers, "getExport" | "listExports" | "readExport"> {
  const { db, now } = deps;
  return {
    async getExport({ id }, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:export");
      return { export: exportOf(await found(deps, context, id), now()) };
    },

    async listExports(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:export");
      const page = clampPage(request.page ?? {});
      const range = await readableRange(deps, context, orgIdOf(request.orgId));
      const wanted = { kind: exportKind, range, state: null, isSystem: context.caller.scope === "system" } as const;
      const { rows, total, nextCursor } = await listJobs(db, context, wanted, page);
      return {
        exports: rows.map((row) => exportOf(row, now())),
        page: { page: page.page, limit: page.limit, nextCursor, ...(total === null ? {} : { total: BigInt(total) }) },
      };
    },

    async *readExport({ id, part }, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:export");
      const job = await found(deps, context, id);
      const content = await partContent(db, context, job.id, part);
      if (content === null) throw missing(job, part, now());
      // Before the first byte: nothing is read unaudited.
      await db.tx(context, async (tx) => tx.emit(exportRow(context, job, { operation: "download", part })));
      for (let at = 0; at < content.length; at += chunkBytes) yield { chunk: content.subarray(at, at + chunkBytes) };
    },
  };
}

function deleteExport(deps: ExportJobDeps): Handlers["deleteExport"] {
  const { db, now } = deps;
  return async ({ id }, handler) => {
    const context = callContext(handler);
    requirePermission(context, "audit:export");
    const job = await found(deps, context, id);
    const removed = await db.tx({ caller: systemCaller("audit") }, async (tx) => {
      if (!(await removeExport(tx, job.id))) return false;
      const at = now();
      const before = { status: statusOf(job, at), filter: (job.input as ExportInput).filter };
      const details = { changes: { before, after: {} } };
      tx.emit(auditEvent("audit", context, { ...aboutOf(job), action: "audit.export.delete", details }, at));
      return true;
    });
    if (!removed) throw notFound();
    return {};
  };
}

/** An export of a chain that the caller reads. */
async function found(deps: ExportJobDeps, context: CallContext, id: string): Promise<Job> {
  rangeOf(context.caller, null);
  const job = isUuid(id) ? await jobs(deps.db).get(id.toLowerCase()) : null;
  if (job?.kind !== exportKind || !(await isVisibleChain(deps, context, job.input as ExportInput))) throw notFound();
  return job;
}

type Shown = Pick<Job, "id" | "state" | "input" | "createdAt"> & Partial<Job>;

/** Why a file is not there: not written yet, or never to be. */
function missing(job: Shown, part: number, now: Date): AppError {
  const status = statusOf(job, now);
  const { parts = 0 } = (job.cursor ?? {}) as Partial<ExportCursor>;
  const isComing = (status === "queued" || status === "running") && (part === 0 || part > parts);
  return isComing ? new AppError("audit_export_not_ready", "This part of the export is not written yet") : notFound();
}

const notFound = () => new AppError("audit_export_not_found", "Audit export not found");

function aboutOf({ id, input }: Pick<Job, "id" | "input">) {
  const { orgId, partnerId } = input as ExportInput;
  return { resource: { type: "audit_export", id, name: null }, orgId, partnerId };
}

function exportRow(context: CallContext, job: Pick<Job, "id" | "input">, details: Record<string, unknown>) {
  const { chainId } = job.input as ExportInput;
  return auditEvent("audit", context, { ...aboutOf(job), action: "data.export", details: { chainId, ...details } });
}

function statusOf({ state, finishedAt }: Shown, now: Date): string {
  return state === "done" && finishedAt && expiresAt(finishedAt) <= now ? "expired" : state;
}

function exportOf(job: Shown, now: Date): ExportJob {
  const { chainId, orgId, filter, createdBy } = job.input as ExportInput;
  const cursor = job.cursor as ExportCursor | null | undefined;
  const { finishedAt } = job;
  return create(ExportJobSchema, {
    id: job.id,
    orgId: orgId ?? "",
    chainId,
    status: statusOf(job, now),
    format: "jsonl",
    filterJson: JSON.stringify(filter),
    rows: BigInt(cursor?.rows ?? 0),
    parts: cursor?.parts ?? 0,
    seenSeq: BigInt(cursor?.seenSeq ?? 0),
    headSeq: BigInt(cursor?.start.headSeq ?? 0),
    error: job.error ?? "",
    createdBy,
    createdAt: timestampFromDate(job.createdAt),
    ...(finishedAt ? { finishedAt: timestampFromDate(finishedAt) } : {}),
    ...(finishedAt && job.state === "done" ? { expiresAt: timestampFromDate(expiresAt(finishedAt)) } : {}),
  });
}
