import { attachmentLine, auditCsvColumns } from "@muster/kit";
import { ExportFormat, type ExportLogsResponse } from "@muster/proto/muster/audit/v1/export_pb";
import { z } from "zod";
import { Streamed } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { timeOf, valuesIn } from "../fields/schemas.ts";
import { auditQuery, listErrors, tag, wantedOf } from "./audit-logs.ts";

const formats = {
  csv: { format: ExportFormat.CSV, contentType: "text/csv; charset=utf-8", suffix: "csv" },
  jsonl: { format: ExportFormat.JSONL, contentType: "application/x-ndjson; charset=utf-8", suffix: "jsonl" },
} as const;

const exportLogs = route({
  method: "GET",
  path: "/audit-logs/export",
  access: { auth: "session", permission: "audit:export", keyScopes: ["audit:read"] },
  tag,
  summary: "Export the newest audit rows that match the filters as a file, at most 10,000",
  description:
    "CSV (RFC 4180) whose cells no spreadsheet evaluates as a formula, or JSON lines with checksums, checkpoints and a signed digest, which " +
    "verify by themselves (`muster audit verify`). A connection that ends without its last chunk is an incomplete export. " +
    "Each export is an audit row of its own, `data.export`.",
  query: auditQuery.omit({ page: true, limit: true, cursor: true, skipCount: true }).extend({
    format: z.enum(["csv", "jsonl"]).default("csv").meta({ description: "Format of the file." }),
    columns: valuesIn(z.enum(auditCsvColumns), 100)
      .optional()
      .meta({
        description:
          "Columns of a CSV file in this order, comma-separated, by their names in its first line; without it, all columns.",
        example: ["timestamp", "actorEmail", "action"],
      }),
  }),
  deadline: "export",
  load: "export",
  noStore: true,
  reply: z.string(),
  file: {
    contentTypes: Object.values(formats).map(({ contentType }) => contentType),
    headers: {
      "X-Export-Truncated": "`true` when more rows match than an export holds, else `false`.",
      "X-Export-Rows": "How many rows the file has.",
      "X-Export-As-Of": "Rows sealed until this moment were looked at.",
    },
  },
  errors: listErrors,
  async handle({ query, rpc }, { services }) {
    const { format, contentType, suffix } = formats[query.format];
    const { page: _, ...filter } = wantedOf(query);
    const columns = query.columns ?? [];
    const parts = services.auditExports.exportLogs({ format, filter, columns }, await rpc())[Symbol.asyncIterator]();
    const first = await parts.next();
    if (first.done || first.value.part.case !== "head") throw new Error("audit began an export without its head");
    const { rows, truncated, asOf } = first.value.part.value;
    const lines = [
      "X-Export-Truncated",
      String(truncated),
      "X-Export-Rows",
      String(rows),
      ...(asOf ? ["X-Export-As-Of", timeOf(asOf)] : []),
      ...attachmentLine(`audit-logs.${suffix}`),
    ];
    return new Streamed(contentType, lines, chunksOf(parts));
  },
});

async function* chunksOf(parts: AsyncIterator<ExportLogsResponse>): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const { done, value } = await parts.next();
      if (done) return;
      if (value.part.case === "chunk") yield value.part.value;
    }
  } finally {
    await parts.return?.();
  }
}

export const auditExportRoutes: readonly Route[] = [exportLogs];
