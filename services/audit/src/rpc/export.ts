import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Reader } from "@muster/db";
import { type CallContext, counter, type NoteSigner, type NoteVerifier, openNote, validationError } from "@muster/kit";
import { ExportFormat, type ExportLogsRequest, type ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, requirePermission, type TenantReader } from "@muster/service";
import { parseCheckpoint } from "../rules/checkpoint.ts";
import { csvTable } from "../rules/csv.ts";
import { exportFile, type ExportFormat as FileFormat } from "../rules/export-file.ts";
import type { LogFilter } from "../rules/log-filter.ts";
import { type Selection, selectedRows, selectRows } from "../store/export.ts";
import { readableRange } from "../store/logs.ts";
import { ownChain, tenantOfChain } from "../store/proof.ts";
import { searchPermits } from "../store/search-permits.ts";
import { filterOf, orgIdOf } from "./log-messages.ts";

type Deps = TenantReader & {
  longReads: Reader;
  exportConcurrency: number;
  deployment: string;
  signer: NoteSigner;
  verifiers: readonly NoteVerifier[];
  now: () => Date;
  /** Newest checkpoints of a chain kept outside of the database, as signed notes. */
  copies(chainId: string): Promise<string[]>;
};

const exportedRows = counter("muster_audit_rows_exported_total", "Rows sent in exports.", ["format"]);
const partBytes = 65_536;
/** Milliseconds that an export waits for its turn. */
const waitMs = 10_000;
/** Chains of one export whose external copies are read at most: beyond them the export states the table's values. */
const mostCopied = 50;
/** Milliseconds by which clocks of two replicas may differ. */
const clockMarginMs = 10_000;

/** Exports what a list would show; each is itself an audit row, `data.export`. */
export function exportService(deps: Deps): ServiceImpl<typeof ExportService> {
  const permits = searchPermits(deps.exportConcurrency, waitMs, "export");
  return {
    async *exportLogs(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:export");
      const as = formatOf(request);
      const { format } = as;
      const wanted = request.filter;
      if (!wanted) throw validationError({ filter: ["Required"] });
      const filter = filterOf(wanted);
      const orgId = orgIdOf(wanted.orgId);
      const range = await readableRange(deps, context, orgId);
      const { db, asOf } = deps.longReads.pick();
      const seenUntil = asOf ?? deps.now();
      const selection = await permits.run(context, () => selectRows(db, context, range, filter));
      await auditExport(deps, context, { orgId, format, filter, selection });
      const { truncated } = selection;
      yield {
        part: { case: "head", value: { rows: selection.seqs.length, truncated, asOf: timestampFromDate(seenUntil) } },
      };
      const copies =
        format === "jsonl" ? await copiesOf(deps, selection, seenUntil.getTime()) : new Map<string, string[]>();
      const file = exportFile(as, { ...deps, ...selection, copies });
      yield* parts(file.begin());
      for await (const rows of selectedRows(db, context, selection)) {
        yield* parts(file.rows(rows));
        exportedRows.inc({ format }, rows.length);
      }
      yield* parts(file.end());
    },
  };
}

/** Checkpoints from outside that the snapshot must agree with: those signed before it was taken. */
async function copiesOf(deps: Deps, { chains }: Selection, seenUntilMs: number): Promise<Map<string, string[]>> {
  const whole = [...chains.values()].filter(({ from }) => from !== null).slice(0, mostCopied);
  const found = new Map<string, string[]>();
  for (const { chainId } of whole) {
    const notes = await deps.copies(chainId);
    found.set(
      chainId,
      [...new Set(notes)].filter((note) => {
        const at = signedAtMs(note, deps.verifiers);
        return at !== null && at < seenUntilMs - clockMarginMs;
      }),
    );
  }
  return found;
}

/** When a checkpoint was signed; null when no known key signed it. */
function signedAtMs(note: string, verifiers: readonly NoteVerifier[]): number | null {
  try {
    return parseCheckpoint(openNote(note, verifiers).text, null)?.at.getTime() ?? null;
  } catch {
    return null;
  }
}

function* parts(text: string) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += partBytes) {
    yield { part: { case: "chunk" as const, value: bytes.subarray(at, at + partBytes) } };
  }
}

function formatOf({ format, columns }: Pick<ExportLogsRequest, "format" | "columns">): FileFormat {
  switch (format) {
    case ExportFormat.CSV: {
      const table = csvTable(columns);
      if (table === null) throw validationError({ columns: ["Unknown column"] });
      return { format: "csv", table };
    }
    case ExportFormat.JSONL:
      if (columns.length > 0) throw validationError({ columns: ["Of a CSV file alone"] });
      return { format: "jsonl" };
    default:
      throw validationError({ format: ["Must be csv or jsonl"] });
  }
}

/** Before the first byte is sent: no export remains unaudited. */
async function auditExport(
  { db }: Deps,
  context: CallContext,
  requested: { orgId: string | null; format: string; filter: LogFilter; selection: Selection },
): Promise<void> {
  const { partnerId, orgId: ownOrgId } = context.caller;
  const orgId = requested.orgId ?? ownOrgId;
  const chainId = orgId ?? ownChain(context);
  // A caller's organizations belong to the caller's partner.
  const tenant = partnerId ? { orgId, partnerId } : await tenantOfChain(db, context, chainId);
  const filter = Object.fromEntries(
    Object.entries(requested.filter).filter(
      ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
    ),
  );
  const event = auditEvent("audit", context, {
    action: "data.export",
    resource: { type: "audit_log", id: chainId, name: null },
    ...tenant,
    details: {
      format: requested.format,
      rows: requested.selection.seqs.length,
      truncated: requested.selection.truncated,
      filter,
    },
  });
  await db.tx(context, async (tx) => tx.emit(event));
}
