import { attachmentLine } from "@muster/kit";
import type { ExportJob, ReadExportResponse } from "@muster/proto/muster/audit/v1/export_job_pb";
import { ExportFormat } from "@muster/proto/muster/audit/v1/export_pb";
import { z } from "zod";
import { Streamed } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  objectOf,
  objectOut,
  only,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeIn,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";
import { auditQuery, listErrors, tag, wantedOf } from "./audit-logs.ts";

const access = { auth: "session", permission: "audit:export", keyScopes: ["audit:read"] } as const;
const status = z.enum(["queued", "running", "done", "failed", "expired"]);

const auditExport = z
  .object({
    id: idOut,
    orgId: idOut.nullable(),
    chainId: idOut,
    status,
    format: z.enum(["jsonl"]),
    filter: objectOut.meta({ description: "The filters that were named." }),
    rows: z.int().meta({ description: "Rows written so far." }),
    parts: z.int().meta({ description: "Parts written so far; each can be read at once." }),
    seenSeq: z.int().meta({ description: "The last row of the chain that was looked at." }),
    headSeq: z.int().meta({ description: "The last row of the chain to look at; 0 until it runs." }),
    error: z.string().nullable(),
    createdBy: idOut,
    createdAt: timeOut,
    finishedAt: timeOut.nullable(),
    expiresAt: timeOut.nullable().meta({ description: "When its parts are removed: 7 days after its end." }),
  })
  .meta({ id: "AuditExport" });

const filters = auditQuery.omit({ page: true, limit: true, cursor: true, skipCount: true }).shape;
const texts = z.array(z.string().min(1).max(100)).max(100).optional();

const start = route({
  method: "POST",
  path: "/audit-logs/exports",
  audit: "data.export",
  auditResource: "audit_export",
  access,
  tag,
  summary: "Export every audit row of a chain that matches, in parts",
  description:
    "A job that writes parts of at most 10,000 rows, in the chain's order, and a signed manifest over all of them with the checkpoints that " +
    "cover them. Rows that are sealed after its start are not part of it. Without `orgId` it is the chain of the caller's own organization, " +
    "partner or, for system callers, the platform. `muster audit export --parts FOLDER` starts one, reads and verifies it.",
  body: z.object({
    ...filters,
    excludeActions: texts,
    excludeTargetTypes: texts,
    actions: texts,
    from: timeIn.optional(),
    to: timeIn.optional(),
    format: z.enum(["jsonl"]).optional(),
  }),
  example: { orgId: exampleId, from: "2026-01-01" },
  status: 202,
  idempotent: true,
  load: "export",
  reply: auditExport,
  errors: [...listErrors, "limit_reached"],
  async handle({ body, rpc }, { services }) {
    const { format: _, ...named } = body;
    const { page: _page, ...filter } = wantedOf(named);
    const wanted = { format: ExportFormat.JSONL, filter };
    return shown((await services.auditExportJobs.startExport(wanted, await rpc())).export);
  },
});

const list = route({
  method: "GET",
  path: "/audit-logs/exports",
  access,
  tag,
  summary: "Exports of the audit chains the caller may see, newest first",
  query: listQuery.extend({ orgId: id.optional().meta({ description: only.organization }) }),
  reply: z.object({ data: z.array(auditExport), pagination }),
  errors: listErrors,
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "" };
    const reply = await services.auditExportJobs.listExports(wanted, await rpc());
    return { data: reply.exports.map(shown), pagination: paginationOf(reply.page) };
  },
});

const errors = ["audit_export_not_found", "site_restricted"] as const;

const get = route({
  method: "GET",
  path: "/audit-logs/exports/:id",
  access,
  tag,
  summary: "State and progress of an export",
  params: idParams,
  reply: auditExport,
  errors,
  async handle({ params, rpc }, { services }) {
    return shown((await services.auditExportJobs.getExport({ id: params.id }, await rpc())).export);
  },
});

const read = route({
  method: "GET",
  path: "/audit-logs/exports/:id/file",
  access,
  tag,
  summary: "A part of an export, or its manifest",
  description:
    "Gzip of JSON lines (`docs/operations/audit-export-format.md`). Each download is an audit row of its own, `data.export`.",
  params: idParams,
  query: z.object({
    part: z
      .string()
      .regex(/^[1-9]\d{0,8}$/, "A number from 1 on")
      .optional()
      .meta({ description: "Number of the part, from 1; without it, the manifest.", example: "1" }),
  }),
  deadline: "export",
  load: "export",
  noStore: true,
  reply: z.string(),
  file: { contentTypes: ["application/gzip"], headers: {} },
  errors: [...errors, "audit_export_not_ready"],
  async handle({ params, query, rpc }, { services }) {
    const part = Number(query.part ?? 0);
    const chunks = services.auditExportJobs.readExport({ id: params.id, part }, await rpc())[Symbol.asyncIterator]();
    const first = await chunks.next();
    if (first.done) throw new Error("audit sent no byte of an export");
    const name = part === 0 ? "manifest" : `part-${String(part).padStart(6, "0")}`;
    return new Streamed("application/gzip", attachmentLine(`${name}.jsonl.gz`), bytesOf(first.value, chunks));
  },
});

const remove = route({
  method: "DELETE",
  path: "/audit-logs/exports/:id",
  audit: "audit.export.delete",
  auditResource: "audit_export",
  access,
  tag,
  summary: "Remove an export and its parts",
  description: "One that runs ends.",
  params: idParams,
  reply: success,
  errors,
  async handle({ params, rpc }, { services }) {
    await services.auditExportJobs.deleteExport({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

async function* bytesOf(
  first: ReadExportResponse,
  rest: AsyncIterator<ReadExportResponse>,
): AsyncGenerator<Uint8Array> {
  try {
    yield first.chunk;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value.chunk;
  } finally {
    await rest.return?.();
  }
}

function shown(message: ExportJob | undefined): z.input<typeof auditExport> {
  if (!message) throw new Error("audit answered without an export");
  return {
    id: message.id,
    orgId: message.orgId || null,
    chainId: message.chainId,
    status: status.parse(message.status),
    format: "jsonl",
    filter: objectOf(message.filterJson),
    rows: Number(message.rows),
    parts: message.parts,
    seenSeq: Number(message.seenSeq),
    headSeq: Number(message.headSeq),
    error: message.error || null,
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    finishedAt: timeOrNull(message.finishedAt),
    expiresAt: timeOrNull(message.expiresAt),
  };
}

export const auditExportJobRoutes: readonly Route[] = [start, list, get, read, remove];
